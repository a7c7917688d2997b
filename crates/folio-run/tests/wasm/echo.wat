;; Answers with the request's body, piece by piece as it comes.
(module
  (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-response"
    (func $response (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-response.body"
    (func $response-body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]response-outparam.set"
    (func $answer (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $body-write (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]outgoing-body.finish"
    (func $body-finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-request.consume" (func $consume (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-body.stream" (func $stream (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[resource-drop]incoming-request" (func $drop-request (param i32)))
  (import "wasi:http/types@0.2.0" "[resource-drop]incoming-body" (func $drop-body (param i32)))
  (import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read"
    (func $read (param i32 i64 i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.0" "[resource-drop]input-stream" (func $drop-input (param i32)))
  (import "wasi:io/streams@0.2.0" "[resource-drop]output-stream" (func $drop-output (param i32)))

  (memory (export "memory") 1)

  ;; Every piece lands in the same place: it is written before the next is read.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))

  (func (export "wasi:http/incoming-handler@0.2.0#handle") (param $request i32) (param $out i32)
    (local $response i32) (local $from i32) (local $input i32) (local $to i32) (local $output i32)
    (call $consume (local.get $request) (i32.const 0))
    (local.set $from (i32.load (i32.const 4)))
    (call $stream (local.get $from) (i32.const 0))
    (local.set $input (i32.load (i32.const 4)))
    (local.set $response (call $response (call $fields)))
    (call $response-body (local.get $response) (i32.const 0))
    (local.set $to (i32.load (i32.const 4)))
    (call $answer (local.get $out) (i32.const 0) (local.get $response)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $body-write (local.get $to) (i32.const 0))
    (local.set $output (i32.load (i32.const 4)))
    (block $end
      (loop $more
        (call $read (local.get $input) (i64.const 4096) (i32.const 0))
        (br_if $end (i32.load8_u (i32.const 0)))
        (call $write (local.get $output)
          (i32.load (i32.const 4)) (i32.load (i32.const 8)) (i32.const 16))
        (br_if $end (i32.load8_u (i32.const 16)))
        (br $more)))
    (call $drop-output (local.get $output))
    (call $drop-input (local.get $input))
    (call $drop-body (local.get $from))
    (call $drop-request (local.get $request))
    (call $body-finish (local.get $to) (i32.const 0) (i32.const 0) (i32.const 0)))
)
