#!/bin/sh
# Writes the secrets that docker-compose.yml needs into the file .env (or the one named), which only you may read.
# Keeps those that are there.
set -eu
umask 077
file=${1:-.env}
if [ -L "$file" ]; then
  echo "$file is a link: name the file itself" >&2
  exit 1
fi
# Its owner could read it whatever its mode is.
if [ -e "$file" ] && [ ! -O "$file" ]; then
  echo "$file belongs to another user" >&2
  exit 1
fi
touch "$file"
chmod 600 "$file"
# A last line without its end would swallow the first secret.
if [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file"; fi
for name in POSTGRES_PASSWORD HTTP_TOKEN GRAFANA_PASSWORD; do
  if grep -q "^$name=" "$file"; then continue; fi
  printf '%s=%s\n' "$name" "$(head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n')" >>"$file"
done
