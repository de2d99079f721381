#!/bin/sh
# Pins the images of the compose files and of Dockerfile to the digests that their registry names today. A tag may be
# moved, a digest may not: look at the difference, and keep it where you deploy from.
set -eu
cd "$(dirname "$0")/.."
tagged='^( *image: |ARG NODE_IMAGE=)([^ @:]+:[^ @:]+)$'
for file in docker-compose.yml docker-compose.service.yml Dockerfile; do
  for image in $(sed -nE "s#$tagged#\\2#p" "$file" | sort -u); do
    digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
    case $digest in
      sha256:*) ;;
      *) echo "no digest for $image: $digest" >&2; exit 1 ;;
    esac
    sed -E "s#^( *image: |ARG NODE_IMAGE=)$image\$#\\1$image@$digest#" "$file" >"$file.pinned"
    cat "$file.pinned" >"$file"
    rm "$file.pinned"
    echo "$image@$digest"
  done
done
