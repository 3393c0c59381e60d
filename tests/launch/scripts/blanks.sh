#!/bin/bash
# blanks and tabs wherever a shell takes them
name () { echo "--name $1"; }
tabbed	(	) { echo --tabbed; }
spaced ( )
{
    echo --spaced
}
true &&   ! false && FLAGS="--and-not"
false ||  ! true || FLAGS="$FLAGS --or-not"
  ! false ;  FLAGS="$FLAGS --status $?"
if   !   [ -n "" ]   ;   then   FLAGS="$FLAGS --if-not"   ;   fi
(   ! true ) || FLAGS="$FLAGS --inside"
{   ! true ;   }   ||   FLAGS="$FLAGS --braces"
case   "$FLAGS"   in   ( *--braces* )   FLAGS="$FLAGS --case"   ;;   esac
for   i   in   1   2   ;   do   FLAGS="$FLAGS --for $i"   ;   done
torchrun   --nproc_per_node   8   train.py   $(   name a   )   $(tabbed)   $(spaced)   $FLAGS   # the end
