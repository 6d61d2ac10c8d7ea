#!/bin/sh
# fresh.sh [demo|test] - both README commands (or one) in an empty Debian 12 root made by debootstrap. As root; takes
# a while; nothing of this machine is seen inside but its network settings and certificates.
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd -P)
DIR=${STOKER_FRESH:-/var/tmp/stoker-fresh}
cleanup () {
    for m in dev/shm dev/pts dev proc sys; do umount -l "$DIR/$m" 2>/dev/null || true; done
}
trap cleanup EXIT
cleanup
rm -rf "$DIR"
debootstrap --variant=minbase bookworm "$DIR"
for m in proc sys dev dev/pts dev/shm; do mkdir -p "$DIR/$m"; mount --rbind "/$m" "$DIR/$m" 2>/dev/null || mount --bind "/$m" "$DIR/$m"; done
cp /etc/resolv.conf "$DIR/etc/resolv.conf"
cp /etc/hosts "$DIR/etc/hosts"
[ -d /etc/apt/apt.conf.d ] && cp -r /etc/apt/apt.conf.d/. "$DIR/etc/apt/apt.conf.d/" 2>/dev/null || true
cp /etc/apt/sources.list "$DIR/etc/apt/" 2>/dev/null || true
cp -r /etc/apt/sources.list.d/. "$DIR/etc/apt/sources.list.d/" 2>/dev/null || true
mkdir -p "$DIR/etc/ssl/certs" "$DIR/usr/share/keyrings"
cp -rL /etc/ssl/certs/. "$DIR/etc/ssl/certs/"
cp -r /usr/share/keyrings/. "$DIR/usr/share/keyrings/" 2>/dev/null || true
# the machine's own authorities, where the package ca-certificates takes them up when it is installed
mkdir -p "$DIR/usr/local/share/ca-certificates"
cp -rL /usr/local/share/ca-certificates/. "$DIR/usr/local/share/ca-certificates/" 2>/dev/null || true
mkdir -p "$DIR/root/stoker"
git -C "$ROOT" archive HEAD | tar -x -C "$DIR/root/stoker"
for c in ${1:-demo test}; do
    args=$c
    [ "$c" = demo ] && args="demo --once"
    echo "== ./dev $args"
    chroot "$DIR" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
        NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt LANG=C.UTF-8 \
        sh -c "cd /root/stoker && (command -v git >/dev/null || { apt-get update -q && apt-get install -qy git ca-certificates; } >/dev/null) && { [ -d .git ] || { git init -q && git add -A && git -c user.name=x -c user.email=x@localhost commit -qm x; }; } && ./dev $args"
done
