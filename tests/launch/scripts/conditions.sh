#!/bin/bash
# conditions: every operator of [ and [[ both ways, patterns, regular expressions, groups
A=abc N=5 E=; L=(1 2)
t() { if "$@"; then python yes "$*"; else python no "$*"; fi; }
[ -z "" ] && python z1; [ -z "$A" ] || python z2; [ -n "$A" ] && python n1; [ -n "" ] || python n2; [ "$A" ] && python w1; [ "" ] || python w2; [ ] || python none; [ -n ] && python lone
[ a = a ] && python eq; [ a == b ] || python ne; [ a != b ] && python neq; [ ! a = b ] && python not; [ ! "" ] && python notempty; [ "!" ] && python bang; [ "(" ] && python paren
[ 1 -eq 1 ] && python a1; [ 1 -ne 1 ] || python a2; [ 1 -lt 2 ] && python a3; [ 2 -lt 2 ] || python a4; [ 2 -le 2 ] && python a5; [ 3 -le 2 ] || python a6; [ 3 -gt 2 ] && python a7; [ 2 -gt 2 ] || python a8; [ 2 -ge 2 ] && python a9; [ 1 -ge 2 ] || python a10
[ a = a -a b = b ] && python and; [ a = a -a b = c ] || python and2; [ a = b -o b = b ] && python or; [ a = b -o b = c ] || python or2; [ a = b -o a = a -a b = c ] || python prec
[ \( a = b -o a = a \) -a b = b ] && python group; [ ! -z "$A" -a ! -n "" ] && python nots
[ "a" \< "b" ] && python less; [ "b" \> "a" ] && python more; [ "a" \> "b" ] || python notmore; [ a \< a ] || python notless
test -z "" && python test; test a = b || python test2; test || python test3
[ -e /no/such ] || python noe; [ -f /no/such ] || python nof; [ -d /no/such ] || python nod; [ -r /no/such ] || python nor; [ -x /no/such ] || python nox
[[ -z $E ]] && python b1; [[ -n $A ]] && python b2; [[ $A ]] && python b3; [[ $E ]] || python b4; [[ ! $E ]] && python b5; [[ -v A ]] && python b6; [[ -v NONE ]] || python b7; [[ -v L ]] && python b8
[[ $A == a* ]] && python p1; [[ $A == "a*" ]] || python p2; [[ $A != b* ]] && python p3; [[ $A = abc ]] && python p4; [[ $A == a?c ]] && python p5; [[ $A == [a-b]* ]] && python p6; [[ $A == [!a]* ]] || python p7; [[ "a*" == "a*" ]] && python p8; [[ $A == *"b"* ]] && python p9; P='a*'; [[ $A == $P ]] && python p10; [[ $A == "$P" ]] || python p11
[[ $A < b ]] && python c1; [[ $A > b ]] || python c2; [[ b > $A ]] && python c3; [[ $A < abc ]] || python c4
[[ $N -gt 4 && $A == abc ]] && python l1; [[ $N -gt 5 || $A == abc ]] && python l2; [[ $N -gt 5 && $A == abc ]] || python l3; [[ ($N -gt 5 || $N -gt 4) && -n $A ]] && python l4; [[ ! ($N -gt 5) ]] && python l5; [[ ! $N -gt 5 && ! $A == x ]] && python l6; [[ $N -eq 5 || $((N = 8)) -eq 8 ]] && python l7 $N
[[ N -eq 5 ]] && python v1; [[ N+1 -eq 6 ]] && python v2; [[ $N -le 5 ]] && python v3; [[ $N -ge 6 ]] || python v4; [[ $N -ne 5 ]] || python v5; [[ $N -lt 6 ]] && python v6
[[ $A =~ b ]] && python r1; [[ $A =~ ^b ]] || python r2; [[ $A =~ c$ ]] && python r3; [[ $A =~ b$ ]] || python r4; [[ $A =~ ^[a-c]+$ ]] && python r5; [[ $A =~ ^[^a] ]] || python r6; [[ $A =~ a.c ]] && python r7; [[ $A =~ ^ab*c$ ]] && python r8; [[ $A =~ ^abx?c$ ]] && python r9; [[ x] =~ []] ]] && python r10; [[ a1 =~ [[:digit:]] ]] && python r11; [[ ab =~ ^[[:alpha:]]+$ ]] && python r12; [[ a.b =~ a\.b ]] && python r13; [[ axb =~ a\.b ]] || python r14; [[ $E =~ ^$ ]] && python r15; [[ $A =~ ^$ ]] || python r16; [[ $N =~ ^[0-9]+$ ]] && python r17; [[ abc =~ ^.*$ ]] && python r18; [[ "a b" =~ a\ b ]] && python r19; [[ ab] =~ ^[]ab]+$ ]] && python r20; [[ a-b =~ ^[a-]+ ]] && python r21
[[ $A == abc
&& $N == 5 ]] && python lines
[[ -z $NONE && \
 -n $A ]] && python cont
[[ -n "$(echo x)" ]] && python sub; [[ "$(echo $A)" == abc ]] && python sub2
if [[ -n $A ]] ; then python if; fi
[[ $A == x || $A == abc ]]; python status $?
[[ $A == x ]]; python status $?
[ $A = x ]; python status $?
[[ -f /no/such || -d /no/such ]] || python files
[[ -o x ]] || python o
