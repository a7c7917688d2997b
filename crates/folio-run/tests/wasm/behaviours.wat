;; Behaves as the first letter of the path says; each letter is one way to be good or bad.
(module
  (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[method]fields.append"
    (func $append (param i32 i32 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-response"
    (func $response (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-response.set-status-code"
    (func $set-status (param i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-response.body"
    (func $response-body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]response-outparam.set"
    (func $answer (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $body-write (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]outgoing-body.finish"
    (func $body-finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-request.path-with-query"
    (func $path (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[resource-drop]incoming-request" (func $drop-request (param i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-request"
    (func $request (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-authority"
    (func $set-authority (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query"
    (func $set-path (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]future-incoming-response.subscribe"
    (func $subscribe (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]future-incoming-response.get" (func $get (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-response.status"
    (func $status (param i32) (result i32)))
  (import "wasi:http/outgoing-handler@0.2.0" "handle" (func $fetch (param i32 i32 i32 i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop-pollable (param i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.0" "[resource-drop]output-stream" (func $drop-output (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"
    (func $after (param i64) (result i32)))
  (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
  (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))

  (memory (export "memory") 2)
  ;; 0..128 is where results are returned to.
  (data (i32.const 128) "first line\nsecond ")
  (data (i32.const 160) "to standard error\n")
  (data (i32.const 192) "piece ")
  (data (i32.const 208) "late work\n")
  (data (i32.const 224) "content-length")
  (data (i32.const 240) "9")
  (data (i32.const 256) "192.0.2.1")
  (data (i32.const 272) "127.0.0.1:1")
  (data (i32.const 288) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\n")
  (data (i32.const 352) "folio.invoke")
  (data (i32.const 368) "\n")
  (data (i32.const 384) "/other@3/path")

  (global $heap (mut i32) (i32.const 4096))
  (global $requests (mut i32) (i32.const 0))
  (global $body (mut i32) (i32.const 0))
  (global $stream (mut i32) (i32.const 0))

  (func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  ;; Begins an answer with a status and headers; its body is open afterwards.
  (func $begin (param $out i32) (param $status i32) (param $headers i32)
    (local $response i32)
    (local.set $response (call $response (local.get $headers)))
    (drop (call $set-status (local.get $response) (local.get $status)))
    (call $response-body (local.get $response) (i32.const 0))
    (global.set $body (i32.load (i32.const 4)))
    (call $answer (local.get $out) (i32.const 0) (local.get $response)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $body-write (global.get $body) (i32.const 0))
    (global.set $stream (i32.load (i32.const 4))))

  (func $say (param $at i32) (param $bytes i32)
    (call $write (global.get $stream) (local.get $at) (local.get $bytes) (i32.const 0)))

  (func $finish
    (call $drop-output (global.get $stream))
    (call $body-finish (global.get $body) (i32.const 0) (i32.const 0) (i32.const 0)))

  (func $print (param $where i32) (param $at i32) (param $bytes i32)
    (call $write (local.get $where) (local.get $at) (local.get $bytes) (i32.const 0))
    (call $drop-output (local.get $where)))

  (func $wait (param $nanoseconds i64)
    (local $pollable i32)
    (local.set $pollable (call $after (local.get $nanoseconds)))
    (call $block (local.get $pollable))
    (call $drop-pollable (local.get $pollable)))

  ;; Says a list of pairs of strings, `stride` bytes apart, from `skip` bytes into each.
  (func $say-list (param $stride i32) (param $skip i32)
    (local $at i32) (local $left i32)
    (local.set $at (i32.load (i32.const 64)))
    (local.set $left (i32.load (i32.const 68)))
    (block $end
      (loop $more
        (br_if $end (i32.eqz (local.get $left)))
        (call $say
          (i32.load (i32.add (local.get $at) (local.get $skip)))
          (i32.load (i32.add (local.get $at) (i32.add (local.get $skip) (i32.const 4)))))
        (if (i32.eq (local.get $stride) (i32.const 16)) (then
          (call $say (i32.const 368) (i32.const 1))
          (call $say (i32.load offset=8 (local.get $at)) (i32.load offset=12 (local.get $at)))
          (call $say (i32.const 368) (i32.const 1))))
        (local.set $at (i32.add (local.get $at) (local.get $stride)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $more))))

  ;; Fetches from an address and says what came of it: the status as two bytes, or the text of the error.
  (func $fetch-from (param $at i32) (param $bytes i32)
    (local $request i32) (local $future i32) (local $pollable i32)
    (local.set $request (call $request (call $fields)))
    (drop (call $set-authority (local.get $request)
      (i32.const 1) (local.get $at) (local.get $bytes)))
    (drop (call $set-path (local.get $request) (i32.const 1) (i32.const 384) (i32.const 13)))
    (call $fetch (local.get $request) (i32.const 0) (i32.const 0) (i32.const 0))
    (local.set $future (i32.load (i32.const 8)))
    (local.set $pollable (call $subscribe (local.get $future)))
    (call $block (local.get $pollable))
    (call $drop-pollable (local.get $pollable))
    (call $get (local.get $future) (i32.const 0))
    (if (i32.load8_u (i32.const 16))
      (then
        (if (i32.eq (i32.load8_u (i32.const 24)) (i32.const 38))
          (then (call $say (i32.load (i32.const 36)) (i32.load (i32.const 40))))
          (else (call $say (i32.const 24) (i32.const 1)))))
      (else
        (i32.store (i32.const 120) (call $status (i32.load (i32.const 24))))
        (call $say (i32.const 120) (i32.const 2)))))

  (func $letter (param $request i32) (result i32)
    (call $path (local.get $request) (i32.const 0))
    (i32.load8_u offset=1 (i32.load (i32.const 4))))

  (func (export "wasi:http/incoming-handler@0.2.0#handle") (param $in i32) (param $out i32)
    (local $letter i32) (local $headers i32) (local $count i32)
    (global.set $heap (i32.const 4096))
    (global.set $requests (i32.add (global.get $requests) (i32.const 1)))
    (local.set $letter (call $letter (local.get $in)))
    (call $drop-request (local.get $in))

    ;; t: traps
    (if (i32.eq (local.get $letter) (i32.const 0x74)) (then unreachable))
    ;; l: loops for ever
    (if (i32.eq (local.get $letter) (i32.const 0x6c)) (then (loop $forever (br $forever))))
    ;; h: takes memory until there is none, then traps
    (if (i32.eq (local.get $letter) (i32.const 0x68)) (then
      (loop $more
        (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
      unreachable))
    ;; s: says nothing
    (if (i32.eq (local.get $letter) (i32.const 0x73)) (then (return)))
    ;; w: waits for an hour
    (if (i32.eq (local.get $letter) (i32.const 0x77)) (then
      (call $wait (i64.const 3600000000000))))
    ;; r: refuses with an error of its own, loop-detected
    (if (i32.eq (local.get $letter) (i32.const 0x72)) (then
      (call $answer (local.get $out) (i32.const 1) (i32.const 36)
        (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
      (return)))
    ;; i: answers with an informational status
    (if (i32.eq (local.get $letter) (i32.const 0x69)) (then
      (call $begin (local.get $out) (i32.const 101) (call $fields))
      (call $finish)
      (return)))
    ;; e: says its environment
    (if (i32.eq (local.get $letter) (i32.const 0x65)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $environment (i32.const 64))
      (call $say-list (i32.const 16) (i32.const 0))
      (call $finish)
      (return)))
    ;; d: says the directories it was given
    (if (i32.eq (local.get $letter) (i32.const 0x64)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $directories (i32.const 64))
      (call $say-list (i32.const 12) (i32.const 4))
      (call $finish)
      (return)))
    ;; p: prints two and a half lines
    (if (i32.eq (local.get $letter) (i32.const 0x70)) (then
      (call $print (call $stdout) (i32.const 128) (i32.const 18))
      (call $print (call $stderr) (i32.const 160) (i32.const 18))
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $finish)
      (return)))
    ;; f: floods its log with four million bytes
    (if (i32.eq (local.get $letter) (i32.const 0x66)) (then
      (local.set $count (i32.const 65536))
      (local.set $headers (call $stdout))
      (loop $more
        (call $write (local.get $headers) (i32.const 288) (i32.const 63) (i32.const 0))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br_if $more (local.get $count)))
      (call $drop-output (local.get $headers))
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $finish)
      (return)))
    ;; c: says how many requests this instance has seen, as a byte
    (if (i32.eq (local.get $letter) (i32.const 0x63)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (i32.store (i32.const 120) (global.get $requests))
      (call $say (i32.const 120) (i32.const 1))
      (call $finish)
      (return)))
    ;; o: leaves its body open
    (if (i32.eq (local.get $letter) (i32.const 0x6f)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $say (i32.const 192) (i32.const 6))
      (return)))
    ;; b: says a piece, waits a little so that the answer begins, then traps
    (if (i32.eq (local.get $letter) (i32.const 0x62)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $say (i32.const 192) (i32.const 6))
      (call $wait (i64.const 1000000))
      unreachable))
    ;; g: says a piece and goes silent for an hour
    (if (i32.eq (local.get $letter) (i32.const 0x67)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $say (i32.const 192) (i32.const 6))
      (call $wait (i64.const 3600000000000))))
    ;; u: says pieces without end
    (if (i32.eq (local.get $letter) (i32.const 0x75)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (loop $more
        (call $say (i32.const 0) (i32.const 4096))
        (br $more))))
    ;; a: answers completely, then works on and prints
    (if (i32.eq (local.get $letter) (i32.const 0x61)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $say (i32.const 192) (i32.const 6))
      (call $finish)
      (call $wait (i64.const 1000000))
      (call $print (call $stdout) (i32.const 208) (i32.const 10))
      (return)))
    ;; n: announces a length that is not the answer's
    (if (i32.eq (local.get $letter) (i32.const 0x6e)) (then
      (local.set $headers (call $fields))
      (call $append (local.get $headers)
        (i32.const 224) (i32.const 14) (i32.const 240) (i32.const 1) (i32.const 0))
      (call $begin (local.get $out) (i32.const 200) (local.get $headers))
      (call $say (i32.const 192) (i32.const 6))
      (call $finish)
      (return)))
    ;; x: fetches from another machine; y: from this one; z: from another function
    (if (i32.eq (local.get $letter) (i32.const 0x78)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $fetch-from (i32.const 256) (i32.const 9))
      (call $finish)
      (return)))
    (if (i32.eq (local.get $letter) (i32.const 0x79)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $fetch-from (i32.const 272) (i32.const 11))
      (call $finish)
      (return)))
    (if (i32.eq (local.get $letter) (i32.const 0x7a)) (then
      (call $begin (local.get $out) (i32.const 200) (call $fields))
      (call $fetch-from (i32.const 352) (i32.const 12))
      (call $finish)
      (return)))
    unreachable)
)
