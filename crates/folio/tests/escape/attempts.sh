# What a hostile build script would try. One attempt per start: `sh attempts.sh NAME`. Says `escaped` or `denied`.
# TOKEN, OTHER_CODE, DATA, OUTSIDE, DECOY and PROCESSES come from the environment.

try() {
    case "$1" in
    read_token) cat "$TOKEN" ;;
    read_shadow) cat /etc/shadow ;;
    list_other_code) ls "$OTHER_CODE" ;;
    list_other_data) ls "$DATA" ;;
    list_code_store) ls /code ;;
    signal_other) kill -CONT "$DECOY" ;;
    read_other_environment) cat "/proc/$DECOY/environ" ;;
    write_outside) : > "$OUTSIDE/planted-$$" && rm "$OUTSIDE/planted-$$" ;;
    write_root) : > "/planted-$$" && rm "/planted-$$" ;;
    dump_core) ulimit -c 1024 ;;
    new_user_namespace) unshare --user true ;;
    new_mount_namespace) unshare --user --map-root-user --mount true ;;
    enter_other_namespaces) nsenter --target "$DECOY" --mount --net true ;;
    change_root) chroot / true ;;
    make_device) mknod "/tmp/device-$$" c 1 1 && rm "/tmp/device-$$" ;;
    mount_something) mount -t tmpfs none /tmp && umount /tmp ;;
    become_root) test "$(id -u)" = 0 ;;
    read_disk) test -b /dev/vda || test -b /dev/sda || test -b /dev/nvme0n1 ;;
    *) echo "there is no attempt $1" >&2 && exit 3 ;;
    esac
}

if (try "$1") >/tmp/said-$$ 2>&1; then
    echo escaped
else
    echo "denied: $(head -n 1 /tmp/said-$$)"
fi
rm -f /tmp/said-$$
