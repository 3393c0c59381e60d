#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Prints how far predicted peaks of memory are from measured ones, by part of a table of runs.

    tools/memory_table.py BUILD/reckon TABLE.csv [--split fit|check] [--rows]

A part is what one source measured in one kind of memory (column `memory_kind`).  Rows are reported
and not judged where the source rounds the figure or its card is a guess.  The mean is that of the
medians of parts with three judged rows and more.
"""
import argparse
import collections
import csv
import io
import statistics
import subprocess

LIMIT = {"allocated": 5, "other": 10}  # mean over parts, %
OOM_LIMIT = 90  # verdicts right, %
LONG = 1_000_000, 4_300_000  # tokens of a long row
ROUNDED = ("rounded", "about", "approx")


def predictions(command, table):
    """Every row of a table with its prediction: pairs of dictionaries."""
    answer = subprocess.run([command, "validate", "--runs", table, "--csv"], check=True, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = list(csv.DictReader(io.StringIO(answer)))
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    return list(zip(rows, found))


def judged(row):
    """Whether a measured peak is exact enough, and its card known."""
    if "accelerator" in row["inferred"].split("+"):
        return False
    words = (row["how"] + " " + row["unread"]).lower()
    return not any(word in words for word in ROUNDED)


def kind(row):
    return row["memory_kind"] or "not stated"


def ran_out(row):
    return row["outcome"] == "oom" or row["out_of_memory"].lower() in ("1", "true")


def error(found):
    return 100 * float(found["memory_error"])


def parts(pairs):
    """Errors in % by part and kind, of judged rows."""
    errors = collections.defaultdict(list)
    for row, found in pairs:
        if found["memory_error"] and judged(row):
            errors[row["part"], kind(row)].append(error(found))
    return errors


def means(errors):
    """Mean over parts of three rows and more of the medians, by class of memory."""
    medians = collections.defaultdict(list)
    for (_, what), values in errors.items():
        if len(values) >= 3:
            name = "allocated" if what == "allocated" else "other"
            medians[name].append(statistics.median(map(abs, values)))
    return {name: statistics.mean(values) for name, values in medians.items()}


def verdicts(pairs):
    """Right and all verdicts on rows that ran out of memory, of DeepSpeed and of mixtures."""
    counts = {"DeepSpeed": [0, 0], "mixtures": [0, 0], "others": [0, 0]}
    for row, found in pairs:
        if ran_out(row) and found["fits"]:
            name = ("DeepSpeed" if "deepspeed" in row["framework"] + row["new_fact"]
                    else "mixtures" if row["moe_experts"] or found["moe"] == "true" else "others")
            counts[name][0] += found["fits"] != "yes"
            counts[name][1] += 1
    return counts


def impossible(pairs):
    """Rows that ran, and those whose need is above what is there."""
    ran = [found for row, found in pairs if not ran_out(row) and found["fits"]]
    return sum(found["fits"] != "yes" for found in ran), len(ran)


def is_long(row, found):
    return (found["memory_error"] and row["seq"]
            and LONG[0] <= float(row["seq"]) <= LONG[1])


def write_rows(pairs):
    for row, found in sorted(pairs, key=lambda pair: (pair[0]["part"], pair[0]["id"])):
        if found["memory_error"]:
            gib = [float(found[key]) / 2**30 for key in ("memory_bytes", "memory_measured_bytes")]
            print(f"{row['id']:22} {row['split']:5} {kind(row):10} {row['model'][:22]:22} "
                  f"x{row['n_accel']:4} mbs {row['mbs']:3} seq {row['seq']:8} "
                  f"{gib[0]:7.2f} {gib[1]:7.2f} {error(found):+7.1f} %"
                  f"{'' if judged(row) else ' not judged'}")


def write(pairs):
    errors = parts(pairs)
    print(f"{'part':18} {'kind':10} {'rows':>4} {'median %':>9} {'bias %':>7} {'worst %':>8}")
    for (part, what), values in sorted(errors.items()):
        print(f"{part:18} {what:10} {len(values):4} {statistics.median(map(abs, values)):9.1f} "
              f"{statistics.median(values):+7.1f} {max(values, key=abs):+8.1f}")
    for name, value in sorted(means(errors).items()):
        print(f"mean over parts of three rows and more, {name}: {value:.1f} %, "
              f"limit {LIMIT[name]} %")
    for name, (right, count) in verdicts(pairs).items():
        if count:
            print(f"out of memory, {name}: {right} of {count} right, limit {OOM_LIMIT} %")
    print("ran and called too large: {} of {}".format(*impossible(pairs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reckon")
    parser.add_argument("table")
    parser.add_argument("--split", choices=("fit", "check"))
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--part")
    options = parser.parse_args()
    pairs = [(row, found) for row, found in predictions(options.reckon, options.table)
             if options.split in (None, row["split"]) and options.part in (None, row["part"])]
    if options.rows:
        write_rows(pairs)
    write(pairs)
    for name, chosen in (("torchtune", lambda row, found: row["part"] == "torchtune"
                          and found["memory_error"]), ("1 M to 4 M tokens", is_long)):
        values = [error(found) for row, found in pairs if chosen(row, found)]
        if values:
            print(f"{name}: {sum(abs(e) <= 10 for e in values)} of {len(values)} within 10 %")


if __name__ == "__main__":
    main()
