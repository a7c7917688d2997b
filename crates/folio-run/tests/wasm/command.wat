;; A WASI preview 1 command. Copies standard input to standard output after a block of headers, or behaves as the
;; first letter of its input says: `!` exits with 3, `.` prints the environment, `,` prints no headers.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environment (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))

  (memory (export "memory") 4)
  (data (i32.const 64) "Status: 201 Created\nContent-Type: text/x-test\n\n")
  (data (i32.const 128) "something is wrong\n")

  (func $put (param $where i32) (param $at i32) (param $bytes i32)
    (loop $more
      (i32.store (i32.const 0) (local.get $at))
      (i32.store (i32.const 4) (local.get $bytes))
      (drop (call $write (local.get $where) (i32.const 0) (i32.const 1) (i32.const 8)))
      (local.set $at (i32.add (local.get $at) (i32.load (i32.const 8))))
      (local.set $bytes (i32.sub (local.get $bytes) (i32.load (i32.const 8))))
      (br_if $more (local.get $bytes))))

  (func $fill (result i32)
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 16384))
    (i32.store (i32.const 8) (i32.const 0))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.load (i32.const 8)))

  (func (export "_start")
    (local $bytes i32) (local $letter i32)
    (local.set $bytes (call $fill))
    (local.set $letter (i32.load8_u (i32.const 1024)))
    (if (i32.eq (local.get $letter) (i32.const 0x21)) (then
      (call $put (i32.const 1) (i32.const 64) (i32.const 47))
      (call $put (i32.const 2) (i32.const 128) (i32.const 19))
      (call $exit (i32.const 3))))
    (if (i32.eq (local.get $letter) (i32.const 0x2e)) (then
      (drop (call $sizes (i32.const 16) (i32.const 20)))
      (drop (call $environment (i32.const 20000) (i32.const 40000)))
      (call $put (i32.const 1) (i32.const 40000) (i32.load (i32.const 20)))
      (call $exit (i32.const 0))))
    (if (i32.ne (local.get $letter) (i32.const 0x2c)) (then
      (call $put (i32.const 1) (i32.const 64) (i32.const 47))))
    (block $end
      (loop $more
        (br_if $end (i32.eqz (local.get $bytes)))
        (call $put (i32.const 1) (i32.const 1024) (local.get $bytes))
        (local.set $bytes (call $fill))
        (br $more))))
)
