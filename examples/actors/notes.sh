#!/bin/sh
# Notes each message on a line of its own in <home>/notes.txt. It may be run again for a message that it has
# noted, after a crash for example, so it looks first.
set -eu

IFS= read -r message
notes="$SWEEP_HOME/notes.txt"
if [ -e "$notes" ] && grep -qF "$SWEEP_MSG_ID " "$notes"; then
    echo "noted before"
else
    printf '%s %s\n' "$SWEEP_MSG_ID" "$message" >> "$notes"
    echo "noted"
fi
