/* SPDX-License-Identifier: Apache-2.0 */

/** Options by their names on the command line ("global-batch" or "global_batch"); documents as objects. */
export interface Options {
  /** A name of the catalogue, a document, or a config.json of Hugging Face. */
  model?: string | object;
  /** A cluster or an accelerator of the catalogue, or a document. */
  system?: string | object;
  accelerators?: number | string;
  /** The file to write, whose text `run` returns; its ending selects a picture or a report. */
  output?: string;
  [option: string]: unknown;
}

export interface Extra {
  /** Names and texts of files that options may name, such as {"/run.sh": "torchrun ..."} for `from`. */
  files?: Record<string, string>;
  /** Called while a search runs; `total` is 0 if it is not known.  Return false to stop. */
  progress?: (what: string, done: number, total: number) => boolean | void;
}

export interface Answer {
  /** The text that the command wrote, or the file `output`; null if it wrote no such file. */
  text: string | null;
  remarks: string[];
  /** Whether the command found an answer, such as a strategy that fits. */
  found: boolean;
}

/** A strategy as answers have it; fields that are not named here follow docs/schema. */
export interface Strategy {
  accelerators: number; tp: number; cp: number; pp: number; vp: number; ep: number; dp: number;
  zero: number; micro_batch: number; global_batch: number; seq_tokens: number;
  schedule: string; recompute: string; precision: string;
  [field: string]: unknown;
}

/** One optimizer step: seconds and bytes. */
export interface Estimate {
  fits: boolean; step_s: number; tokens_per_s: number; mfu: number;
  memory_total_bytes: number; memory_usable_bytes: number;
  time_s: Record<string, number>;
  [field: string]: unknown;
}

export interface Choice {
  label?: string; slowdown?: number; strategy: Strategy; estimate: Estimate;
  interval?: {step_p10_s: number; step_p90_s: number; runs: number; comparable: string};
  [field: string]: unknown;
}

export interface Plan {
  schema_version: number; reckon: string; strategies: Choice[];
  [member: string]: unknown;
}

export interface Reckon {
  readonly version: string;
  /** The answer of a command as an object.  @throws ReckonError */
  ask(command: "plan", options: Options, extra?: Extra): Plan;
  ask(command: "estimate" | "fit", options: Options, extra?: Extra): Choice & Record<string, unknown>;
  ask(command: string, options?: Options, extra?: Extra): Record<string, unknown>;
  /** The answer of a command as text.  @throws ReckonError */
  run(command: string, options?: Options, extra?: Extra): Answer;
  /** The JSON Schema of the options of a command.  @throws ReckonError */
  schema(command: string): Record<string, unknown>;
  /** The names of the catalogue: "models", "systems", "accelerators", "stacks"... */
  catalogue(kind: string): string[];
}

/** Invalid input; the message says how to correct it. */
export class ReckonError extends Error {}

/** Opens the library.  Outside node, pass the bytes of reckon.wasm. */
export function open(bytes?: ArrayBuffer | Uint8Array): Promise<Reckon>;
