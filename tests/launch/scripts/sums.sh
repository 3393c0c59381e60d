#!/bin/bash
# sums: quotients of negative numbers, bases, names, precedence, sides that are not evaluated
A=7 B=-1 Z=; declare -A D=([x]=5 [y]='2 + 3'); L=(4 5 'A * 2')
python div $((7 / B)) $((7 % B)) $((-9223372036854775807 / B)) $((7 / 2)) $((-7 % 3)) $((-7 / 2)) $((B / B)) $((A % -1)) $((5 / -1))
python base $((16#ff)) $((2#11)) $((36#z)) $((8#17)) $((010)) $((0x1F))
python names $((D[x])) $((D[y])) $((L[2])) $((L[0] + L[1])) $((NONE[3])) $((L[9])) $((NONE)) $((Z))
E1='A + 1'; E2='E1 * 2'
python inner $((E1)) $((E2)) $((E1 ? 3 : 4))
python shift $((1 << 3)) $((-16 >> 2)) $((1 << 65)) $((2 ** 3 ** 2)) $((-2 ** 2)) $((2 ** 0))
python less $((3 < 3)) $((3 <= 3)) $((3 > 3)) $((3 >= 3)) $((2 < 3)) $((3 == 3)) $((3 != 3))
python logic $((1 || (A = 9))) $A $((0 && (A = 9))) $A $((0 || 2)) $((2 && 3)) $((! 4)) $((~4)) $((- -4)) $((+4))
python dry $((1 ? 2 : 1 / 0)) $((0 ? 1 / 0 : 3)) $((1 ? (A = 5) : (A = 6))) $A $((0 || 0)) $((5 & 3)) $((5 | 3)) $((5 ^ 3))
python assign $((A = 3)) $((A += 4)) $((A -= 1)) $((A *= 5)) $((A /= 4)) $((A %= 4)) $A $((A == 3)) 
python step $((A++)) $((A--)) $((++A)) $((--A)) $A $((A++ + ++A)) $A
python comma $((A = 1, A + 1)) $A
((A > 0 && A < 3)); python status $?
((0)); python status $?
((A = 0)); python status $?
python spaces $(( A 
 + 2 )) $((  )) 
python wrap $((9223372036854775807 + 1)) $((9223372036854775807 * 2))
let 'A = 4' 'A == 5'; python let $? $A
let A++; python let $? $A
for ((i = 0, j = 9; i < 3; i++, j--)); do python loop $i $j; done
for ((i = 5; i; i -= 2)) { python braces $i; [ $i -lt 2 ] && break; }
for ((i = 0; i < 2; i++))
do
  python lines $i
done
python assigns $((L[1] - 1 )) $((A=2+3*4)) $((A&&0)) $((A||0)) $((1<2)) $((2>=1)) $((A%2)) $((A*-1)) $((A- -1))
