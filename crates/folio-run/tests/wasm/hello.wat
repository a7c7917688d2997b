;; Answers every request with a greeting. Also examples/wasm-hello, byte for byte.
(module
  (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[method]fields.append"
    (func $append (param i32 i32 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-response"
    (func $response (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-response.body"
    (func $response-body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]response-outparam.set"
    (func $answer (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $body-write (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]outgoing-body.finish"
    (func $body-finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[resource-drop]incoming-request" (func $drop-request (param i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.0" "[resource-drop]output-stream" (func $drop-output (param i32)))

  (memory (export "memory") 1)
  ;; 0..64 is where results are returned to.
  (data (i32.const 64) "content-type")
  (data (i32.const 80) "text/plain")
  (data (i32.const 96) "Hello from wasm!\n")

  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)

  (func (export "wasi:http/incoming-handler@0.2.0#handle") (param $request i32) (param $out i32)
    (local $headers i32) (local $response i32) (local $body i32) (local $stream i32)
    (call $drop-request (local.get $request))
    (local.set $headers (call $fields))
    (call $append (local.get $headers)
      (i32.const 64) (i32.const 12) (i32.const 80) (i32.const 10) (i32.const 0))
    (local.set $response (call $response (local.get $headers)))
    (call $response-body (local.get $response) (i32.const 0))
    (local.set $body (i32.load (i32.const 4)))
    (call $answer (local.get $out) (i32.const 0) (local.get $response)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $body-write (local.get $body) (i32.const 0))
    (local.set $stream (i32.load (i32.const 4)))
    (call $write (local.get $stream) (i32.const 96) (i32.const 17) (i32.const 0))
    (call $drop-output (local.get $stream))
    (call $body-finish (local.get $body) (i32.const 0) (i32.const 0) (i32.const 0)))
)
