// Runs one function in Node.js and speaks folio's frames on descriptor 3 (see frames.rs for the protocol).
//
// Everything here is written for many small requests: a batch of frames is read at once, answers of the same
// turn of the event loop leave in one write, and nothing of a request is decoded before the function looks at it.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { Writable } = require('node:stream');
const { StringDecoder } = require('node:string_decoder');
const { AsyncLocalStorage } = require('node:async_hooks');

const SPECIALISE = 1, READY = 2, FAILED = 3, REQUEST = 4, RESPONSE = 5, BODY = 6, CANCEL = 7, CREDIT = 8, LOG = 9;
const PING = 10, PONG = 11, LAST = 0x80;
const HEADER = 9, WINDOW = 256 * 1024, PIECE = 64 * 1024, LINE_MAX = 60 * 1024, HELD_MAX = 1;

// ---------------------------------------------------------------- frames out

let out = Buffer.allocUnsafe(64 * 1024);
let view = new DataView(out.buffer, out.byteOffset, out.length);
let used = 0;
let scheduled = false;
let since = 0;
let draining = false;

function reserve(bytes) {
  if (out.length - used >= bytes) return;
  if (used > 0 && !draining) flush();
  if (out.length - used >= bytes) return;
  const grown = Buffer.allocUnsafe(Math.max(out.length * 2, used + bytes));
  out.copy(grown, 0, 0, used);
  out = grown;
  view = new DataView(out.buffer, out.byteOffset, out.length);
}

function finish(from, kind, stream) {
  view.setUint32(from, used - from - HEADER, true);
  out[from + 4] = kind;
  view.setUint32(from + 5, stream, true);
  if (!scheduled) {
    scheduled = true;
    since = performance.now();
    setImmediate(flush);
  } else if (performance.now() - since > HELD_MAX) {
    // The others of this turn take long, and whoever has an answer should not wait for them.
    flush();
  }
}

function send(kind, stream, payload) {
  const length = payload === undefined ? 0 : payload.length;
  reserve(HEADER + length);
  const from = used;
  used += HEADER;
  if (length > 0) {
    out.set(payload, used);
    used += length;
  }
  finish(from, kind, stream);
}

function sendText(kind, stream, first, text) {
  reserve(HEADER + 1 + text.length * 3);
  const from = used;
  used += HEADER;
  if (first !== 0) out[used++] = first;
  used += out.utf8Write(text, used);
  finish(from, kind, stream);
}

function sendCount(stream, count) {
  reserve(HEADER + 4);
  const from = used;
  used += HEADER;
  view.setUint32(used, count, true);
  used += 4;
  finish(from, CREDIT, stream);
}

// `head` is a Buffer, `body` a string or bytes of at most a window.
function sendAnswer(kind, stream, head, body) {
  const isText = typeof body === 'string';
  reserve(HEADER + 4 + head.length + (isText ? body.length * 3 : body.length));
  const from = used;
  view.setUint32(from + HEADER, head.length, true);
  out.set(head, from + HEADER + 4);
  used = from + HEADER + 4 + head.length;
  if (isText) {
    used += out.utf8Write(body, used);
  } else if (body.length > 0) {
    out.set(body, used);
    used += body.length;
  }
  finish(from, kind, stream);
}

// The socket is non-blocking: what does not fit now goes through the event loop, and everything after it too.
function flush() {
  scheduled = false;
  if (used === 0) return;
  let written = 0;
  if (!draining) {
    try {
      written = fs.writeSync(3, out, 0, used);
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(0);
    }
  }
  if (written < used) {
    draining = true;
    socket.write(Buffer.from(out.subarray(written, used)), drained);
  }
  used = 0;
  if (out.length > 1024 * 1024) {
    out = Buffer.allocUnsafe(64 * 1024);
    view = new DataView(out.buffer, out.byteOffset, out.length);
  }
}

function drained() {
  draining = socket.writableLength > 0;
}

// ---------------------------------------------------------------- frames in

let rest = null;

function received(length, buffer) {
  let bytes = buffer;
  let end = length;
  if (rest !== null) {
    bytes = Buffer.concat([rest, buffer.subarray(0, length)]);
    end = bytes.length;
    rest = null;
  }
  let at = 0;
  while (end - at >= HEADER) {
    const size = bytes.readUInt32LE(at);
    const next = at + HEADER + size;
    if (next > end) break;
    accept(bytes[at + 4], bytes.readUInt32LE(at + 5), bytes, at + HEADER, next);
    at = next;
  }
  // The buffer is used again for the next read.
  if (at < end) rest = Buffer.from(bytes.subarray(at, end));
  return true;
}

// Streams that receive or send a body in pieces; the others need no memory here.
const uploads = new Map();
const downloads = new Map();

function accept(kind, stream, bytes, from, to) {
  switch (kind) {
    case REQUEST | LAST: {
      const end = from + 4 + bytes.readUInt32LE(from);
      const body = end === to ? null : Buffer.from(bytes.subarray(end, to));
      const head = new Head(stream, bytes.latin1Slice(from + 4, end));
      return asking.run(head, begin, stream, head, body);
    }
    case REQUEST: {
      const end = from + 4 + bytes.readUInt32LE(from);
      const upload = new Upload(stream);
      uploads.set(stream, upload);
      upload.push(Buffer.from(bytes.subarray(end, to)));
      const head = new Head(stream, bytes.latin1Slice(from + 4, end));
      return asking.run(head, beginUpload, stream, head, upload);
    }
    case BODY:
    case BODY | LAST: {
      const upload = uploads.get(stream);
      if (upload === undefined) return;
      if (to > from) upload.push(Buffer.from(bytes.subarray(from, to)));
      if (kind & LAST) {
        uploads.delete(stream);
        upload.end(null);
      }
      return;
    }
    case CREDIT: {
      const download = downloads.get(stream);
      if (download !== undefined) download.grant(bytes.readUInt32LE(from));
      return;
    }
    case CANCEL:
      return cancel(stream);
    case PING:
      return send(PONG, stream);
    case SPECIALISE:
      return void specialise(JSON.parse(bytes.toString('utf8', from, to)));
  }
}

function cancel(stream) {
  const upload = uploads.get(stream);
  if (upload !== undefined) {
    uploads.delete(stream);
    upload.end(new Error('the client is gone'));
  }
  const download = downloads.get(stream);
  if (download !== undefined) {
    downloads.delete(stream);
    download.abort();
  }
  send(FAILED | LAST, stream);
}

// A request's body that arrives in pieces. `taken` tells folio that it may send more.
class Upload {
  constructor(stream) {
    this.stream = stream;
    this.pieces = [];
    this.over = false;
    this.error = null;
    this.wake = null;
  }

  push(piece) {
    if (piece.length === 0) return;
    this.pieces.push(piece);
    this.notify();
  }

  end(error) {
    this.over = true;
    this.error = error;
    this.notify();
  }

  notify() {
    const wake = this.wake;
    this.wake = null;
    if (wake !== null) wake();
  }

  async read() {
    while (this.pieces.length === 0) {
      if (this.error !== null) throw this.error;
      if (this.over) return null;
      await new Promise((resolve) => { this.wake = resolve; });
    }
    const piece = this.pieces.shift();
    if (!this.over) sendCount(this.stream, piece.length);
    return piece;
  }

  async whole() {
    const pieces = [];
    for (let piece; (piece = await this.read()) !== null;) pieces.push(piece);
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  }

  readable() {
    return new ReadableStream({
      type: 'bytes',
      pull: async (controller) => {
        const piece = await this.read();
        if (piece === null) {
          controller.close();
          controller.byobRequest?.respond(0);
        } else {
          controller.enqueue(new Uint8Array(piece));
        }
      },
    }, { highWaterMark: 0 });
  }
}

// An answer's body that leaves in pieces, never more than folio asked for.
class Download {
  constructor(stream) {
    this.stream = stream;
    this.credit = WINDOW;
    this.aborted = false;
    this.wake = null;
    downloads.set(stream, this);
  }

  grant(bytes) {
    this.credit += bytes;
    this.notify();
  }

  abort() {
    this.aborted = true;
    this.notify();
  }

  notify() {
    const wake = this.wake;
    this.wake = null;
    if (wake !== null) wake();
  }

  // Says whether anybody still wants it.
  async write(bytes) {
    for (let at = 0; at < bytes.length && !this.aborted;) {
      if (this.credit === 0) {
        await new Promise((resolve) => { this.wake = resolve; });
        continue;
      }
      const size = Math.min(PIECE, this.credit, bytes.length - at);
      this.credit -= size;
      send(BODY, this.stream, bytes.subarray(at, at + size));
      at += size;
    }
    return !this.aborted;
  }

  end() {
    downloads.delete(this.stream);
    if (!this.aborted) send(BODY | LAST, this.stream);
  }
}

// ---------------------------------------------------------------- requests, express style

// Lines before the client's headers: four, the request's id, and six headers of Fission's, for Fission's signatures.
const CLIENT = 18;

class Head {
  constructor(stream, text) {
    this.stream = stream;
    this.text = text;
    this.split = null;
  }

  get lines() {
    return this.split ??= this.text.split('\n');
  }

  get id() { return this.lines[5]; }

  has(name) {
    return this.lines.some((line, at) => line === name && at >= CLIENT && at % 2 === 0);
  }
}

class BadBody extends Error {}

class Request {
  #head;
  #raw;
  #headers = null;
  #query = null;
  #params = null;
  #body;
  #parsed = false;

  constructor(head, raw) {
    this.#head = head;
    this.#raw = raw;
  }

  get method() { return this.#head.lines[0]; }
  get url() { return this.#head.lines[1]; }
  get originalUrl() { return this.#head.lines[2] || this.#head.lines[1]; }
  get path() {
    const url = this.url;
    const mark = url.indexOf('?');
    return mark < 0 ? url : url.slice(0, mark);
  }

  get headers() { return this.#headers ??= headersOf(this.#head.lines); }
  get rawHeaders() { return this.#head.lines.slice(4); }
  get httpVersion() { return '1.1'; }
  get hostname() { return (this.headers.host ?? '').replace(/:\d+$/, ''); }
  get protocol() { return this.headers['x-forwarded-proto'] ?? 'http'; }
  get ip() { return (this.headers['x-forwarded-for'] ?? '').split(',')[0].trim() || undefined; }

  get query() {
    if (this.#query === null) {
      const url = this.url;
      const mark = url.indexOf('?');
      this.#query = mark < 0 ? {} : { ...require('node:querystring').parse(url.slice(mark + 1)) };
    }
    return this.#query;
  }
  set query(value) { this.#query = value; }

  get params() {
    return this.#params ??= this.#head.lines[3] === '' ? {} : JSON.parse(this.#head.lines[3]);
  }
  set params(value) { this.#params = value; }

  get rawBody() { return this.#raw ?? Buffer.alloc(0); }
  get body() {
    if (!this.#parsed) {
      this.#body = parseBody(this.headers['content-type'] ?? '', this.#raw);
      this.#parsed = true;
    }
    return this.#body;
  }
  set body(value) {
    this.#body = value;
    this.#parsed = true;
  }

  get(name) {
    const wanted = name.toLowerCase();
    if (wanted === 'referer' || wanted === 'referrer') return this.headers.referer ?? this.headers.referrer;
    return this.headers[wanted];
  }
  header(name) { return this.get(name); }
  is(type) {
    const own = (this.headers['content-type'] ?? '').split(';')[0].trim();
    return own !== '' && (own === type || own.endsWith(`/${type}`)) ? own : false;
  }
}

function headersOf(lines) {
  const headers = {};
  for (let at = 4; at + 1 < lines.length; at += 2) {
    const name = lines[at];
    const value = lines[at + 1];
    if (name === 'set-cookie') (headers[name] ??= []).push(value);
    else if (headers[name] === undefined) headers[name] = value;
    else headers[name] += (name === 'cookie' ? '; ' : ', ') + value;
  }
  return headers;
}

function parseBody(type, raw) {
  if (raw === null || raw.length === 0) return {};
  const kind = type.split(';')[0].trim().toLowerCase();
  if (kind === 'application/json' || kind.endsWith('+json')) {
    try {
      return JSON.parse(raw.toString());
    } catch (error) {
      throw new BadBody(`the request's body is not JSON: ${error.message}`);
    }
  }
  if (kind === 'application/x-www-form-urlencoded') return { ...require('node:querystring').parse(raw.toString()) };
  if (kind.startsWith('text/')) return raw.toString();
  return raw;
}

// ---------------------------------------------------------------- whose request it is

// The head of the request that whatever runs now belongs to, as far as that can be followed.
const asking = new AsyncLocalStorage();
const REQUEST_ID = 'folio-request-id';
const INVOKE = process.env.FOLIO_INVOKE;

// Has calls of other functions say which request makes them. Whatever stands on node:http writes its heads with this
// method, however it was asked to, and nothing can be added later.
function attributeCalls() {
  const { prototype } = require('node:http').ClientRequest;
  const write = prototype._storeHeader;
  prototype._storeHeader = function (first, headers) {
    const socket = this.socketPath ?? this.agent?.options?.socketPath;
    const head = socket === INVOKE ? asking.getStore() : undefined;
    if (head === undefined || says(this, headers)) return write.call(this, first, headers);
    return write.call(this, `${first}${REQUEST_ID}: ${head.id}\r\n`, headers);
  };
}

// Headers that come as a list are not in the request.
function says(request, headers) {
  if (!Array.isArray(headers)) return request.hasHeader(REQUEST_ID);
  return headers.flat().some((text) => String(text).toLowerCase() === REQUEST_ID);
}

// ---------------------------------------------------------------- a network that is not there

// Has whoever looks a name up or connects hear why nothing comes of it, besides what the system makes of that.
function explainDenial(denial) {
  const tell = (error) => {
    if (error.message.endsWith(denial)) return error;
    const [, head, calls] = /^(.*?)(\n    at [^]*)?$/s.exec(error.stack);
    error.message = error.message === '' ? denial : `${error.message}: ${denial}`;
    error.stack = `${head.replace(/:?\s*$/, '')}: ${denial}${calls ?? ''}`;
    return error;
  };
  const heard = (callback) => (error, ...found) => callback(error && tell(error), ...found);
  const explained = (original) => function (...words) {
    const last = words.length - 1;
    if (typeof words[last] === 'function') words[last] = heard(words[last]);
    const found = original.apply(this, words);
    return isPromise(found) ? found.catch((error) => { throw tell(error); }) : found;
  };
  const dns = require('node:dns');
  for (const names of [dns, dns.promises]) {
    for (const name of Object.keys(names).filter((name) => /^(lookup|resolve|reverse)/.test(name))) {
      // What `promisify` makes of a function is told by a property of it.
      const about = Object.getOwnPropertyDescriptors(names[name]);
      names[name] = Object.defineProperties(explained(names[name]), about);
    }
  }
  require('node:module').syncBuiltinESMExports();
  // Paths have no port: other sockets of the same jail are there.
  const isOurs = (error) => error?.syscall === 'getaddrinfo' || error?.syscall === 'connect' && error.port !== undefined;
  const areOurs = (errors) => Array.isArray(errors) && errors.length > 0 && errors.every(isOurs);
  const { _destroy } = net.Socket.prototype;
  net.Socket.prototype._destroy = function (error, done) {
    if (error && (isOurs(error) || areOurs(error.errors))) tell(error);
    return _destroy.call(this, error, done);
  };
}

// ---------------------------------------------------------------- answers, express style

class Response {
  #stream;
  #context;
  #headers = null;
  headersSent = false;
  statusCode = 200;

  constructor(stream, context) {
    this.#stream = stream;
    this.#context = context;
  }

  status(code) {
    this.statusCode = code;
    return this;
  }

  set(name, value) {
    this.#headers ??= {};
    if (typeof name === 'object') for (const key of Object.keys(name)) this.set(key, name[key]);
    else this.#headers[name.toLowerCase()] = value;
    return this;
  }
  header(name, value) { return this.set(name, value); }
  setHeader(name, value) { return this.set(name, value); }
  getHeader(name) { return this.#headers?.[name.toLowerCase()]; }
  get(name) { return this.getHeader(name); }
  removeHeader(name) { if (this.#headers !== null) delete this.#headers[name.toLowerCase()]; }
  append(name, value) {
    const old = this.getHeader(name);
    return this.set(name, old === undefined ? value : [].concat(old, value));
  }
  type(value) { return this.set('content-type', value.includes('/') ? value : TYPES[value] ?? value); }
  writeHead(code, headers) {
    this.statusCode = code;
    return headers === undefined ? this : this.set(headers);
  }

  send(body) {
    if (!Context.claim(this.#context)) return this;
    this.headersSent = true;
    try {
      answer(this.#stream, this.statusCode, body, this.#headers);
    } catch (error) {
      fail(this.#stream, error);
    }
    return this;
  }
  json(value) {
    if (this.getHeader('content-type') === undefined) this.set('content-type', 'application/json; charset=utf-8');
    return this.send(JSON.stringify(value));
  }
  end(body) { return this.send(body ?? Buffer.alloc(0)); }
  sendStatus(code) { return this.status(code).send(require('node:http').STATUS_CODES[code] ?? String(code)); }
  redirect(code, url) {
    if (typeof code === 'string') [code, url] = [302, code];
    return this.status(code).set('location', url).send('');
  }
}

const TYPES = { html: 'text/html; charset=utf-8', text: 'text/plain; charset=utf-8', json: 'application/json; charset=utf-8' };
const HTML = ['content-type', 'text/html; charset=utf-8'];
const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'];
const OCTETS = ['content-type', 'application/octet-stream'];

// Heads repeat: most functions answer with one status and no headers of their own.
const plainHeads = new Map();

function encodeHead(status, headers, fallback) {
  if (!Number.isInteger(status) || status < 200 || status > 999) {
    const number = Number(status);
    if (!Number.isInteger(number) || number < 200 || number > 999) throw new TypeError(`the status ${status} is none`);
    status = number;
  }
  if (headers === null || headers === undefined) {
    const key = fallback === null ? `${status}` : `${status}${fallback[1]}`;
    let head = plainHeads.get(key);
    if (head === undefined) {
      head = Buffer.from(fallback === null ? `${status}` : `${status}\n${fallback[0]}\n${fallback[1]}`, 'latin1');
      plainHeads.set(key, head);
    }
    return head;
  }
  let text = String(status);
  let typed = false;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined) continue;
    if (!typed && name.length === 12 && name.toLowerCase() === 'content-type') typed = true;
    if (Array.isArray(value)) for (const one of value) text += line(name, one);
    else text += line(name, value);
  }
  if (!typed && fallback !== null) text += `\n${fallback[0]}\n${fallback[1]}`;
  return Buffer.from(text, 'latin1');
}

function line(name, value) {
  const text = `\n${name}\n${value}`;
  if (/[\r\n\0]/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new TypeError(`the header ${JSON.stringify(name)} has a character that headers cannot have`);
  return text;
}

function answer(stream, status, body, headers) {
  let fallback = HTML;
  if (typeof body !== 'string') {
    if (body === undefined || body === null) {
      body = '';
      fallback = null;
    } else if (body instanceof Uint8Array) {
      fallback = OCTETS;
    } else if (body instanceof ArrayBuffer) {
      body = new Uint8Array(body);
      fallback = OCTETS;
    } else if (typeof body.pipe === 'function' || typeof body.getReader === 'function') {
      return void stream_(stream, encodeHead(status, headers, OCTETS), body).catch((error) => fail(stream, error));
    } else {
      body = JSON.stringify(body) ?? '';
      fallback = JSON_TYPE;
    }
  }
  const head = encodeHead(status, headers, fallback);
  if (body.length * (typeof body === 'string' ? 3 : 1) <= WINDOW) {
    inFlight--;
    return sendAnswer(RESPONSE | LAST, stream, head, body);
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  if (bytes.length <= WINDOW) {
    inFlight--;
    return sendAnswer(RESPONSE | LAST, stream, head, bytes);
  }
  return void stream_(stream, head, [bytes]).catch((error) => fail(stream, error));
}

// Sends pieces as they come: anything that can be iterated.
async function stream_(stream, head, pieces) {
  sendAnswer(RESPONSE, stream, head, '');
  const download = new Download(stream);
  for await (const piece of pieces) {
    if (!await download.write(typeof piece === 'string' ? Buffer.from(piece) : piece)) break;
  }
  inFlight--;
  download.end();
}

// ---------------------------------------------------------------- calling the function

let begin = (stream) => sendText(FAILED | LAST, stream, 0, 'no function is loaded');
let handler = null;
let inFlight = 0;
let sole = 0;

class Context {
  #stream;
  #response = null;
  #answered = false;

  constructor(stream, request) {
    this.#stream = stream;
    this.request = request;
  }

  get response() { return this.#response ??= new Response(this.#stream, this); }

  static usesResponse(context) { return context.#response !== null; }

  // Says whether whoever asks is the first to answer; a function can return, call back and send.
  static claim(context) {
    if (context.#answered) return false;
    context.#answered = true;
    return true;
  }
}

function failContext(context, stream, error) {
  if (Context.claim(context)) fail(stream, error);
  else report(error);
}

function fail(stream, error) {
  inFlight--;
  downloads.delete(stream);
  uploads.delete(stream);
  if (error instanceof BadBody) {
    inFlight++;
    return answer(stream, 400, `${error.message}\n`, { 'content-type': 'text/plain; charset=utf-8' });
  }
  sendText(FAILED | LAST, stream, 0, describe(error).slice(0, LINE_MAX));
}

// Errors that are told of one that was raised.
const ERRORS_MAX = 5;

// An error and what is behind it, which is all that tells why a fetch failed. What else errors hold is not told: some hold
// the whole request, with what it was let in by.
function describe(error) {
  if (!(error instanceof Error)) return `the function threw ${require('node:util').inspect(error, { customInspect: false })}`;
  const told = [];
  const behind = [error];
  while (behind.length > 0 && told.length < ERRORS_MAX) {
    const next = behind.shift();
    if (!(next instanceof Error)) continue;
    told.push(next.stack ?? `${next.name}: ${next.message}`);
    behind.push(...(next instanceof AggregateError ? next.errors : []), next.cause);
  }
  return told.join('\ncaused by: ');
}

// Reads what a function returned: Fission's `{status, body, headers}`, or anything that can be a body.
function conclude(stream, context, value) {
  if (value === undefined && Context.usesResponse(context)) return;
  if (!Context.claim(context)) return;
  try {
    if (value !== null && typeof value === 'object') {
      if (typeof value.arrayBuffer === 'function' && isWebResponse(value)) return answerWeb(stream, value);
      if (value.status !== undefined) return answer(stream, value.status, value.body, value.headers);
      if ('body' in value) return answer(stream, 200, value.body, value.headers);
    }
    if (value === undefined) throw new TypeError('the function returned nothing; expected { status, body, headers }');
    return answer(stream, 200, value, null);
  } catch (error) {
    fail(stream, error);
  }
}

function isPromise(value) {
  return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

function beginContext(stream, head, body) {
  const context = new Context(stream, new Request(head, body));
  inFlight++;
  sole = stream;
  let value;
  try {
    value = handler(context);
  } catch (error) {
    return failContext(context, stream, error);
  }
  if (!isPromise(value)) return conclude(stream, context, value);
  value.then((value) => conclude(stream, context, value), (error) => failContext(context, stream, error));
}

function beginCallback(stream, head, body) {
  const context = new Context(stream, new Request(head, body));
  inFlight++;
  sole = stream;
  const callback = (status, body, headers) => {
    if (!status || !Context.claim(context)) return;
    try {
      answer(stream, status, body, headers);
    } catch (error) {
      fail(stream, error);
    }
  };
  try {
    const value = handler(context, callback);
    if (isPromise(value)) value.then(undefined, (error) => failContext(context, stream, error));
  } catch (error) {
    failContext(context, stream, error);
  }
}

// `main(context, input)`, as Qinling's functions are written. Only executions have an input; other requests get a callback.
function beginInput(stream, head, body) {
  if (!head.has('folio-execution')) return beginCallback(stream, head, body);
  const context = new Context(stream, new Request(head, body));
  inFlight++;
  sole = stream;
  let value;
  try {
    value = handler(context, context.request.body);
  } catch (error) {
    return failContext(context, stream, error);
  }
  if (!isPromise(value)) return conclude(stream, context, value);
  value.then((value) => conclude(stream, context, value), (error) => failContext(context, stream, error));
}

const afterwards = { waitUntil(promise) { Promise.resolve(promise).catch(report); }, passThroughOnException() {} };

function webRequest(head, body) {
  const lines = head.lines;
  const headers = new Headers();
  let host = 'localhost';
  let scheme = 'http';
  headers.append(REQUEST_ID, head.id);
  for (let at = CLIENT; at + 1 < lines.length; at += 2) {
    headers.append(lines[at], lines[at + 1]);
    if (lines[at] === 'host') host = lines[at + 1];
    else if (lines[at] === 'x-forwarded-proto') scheme = lines[at + 1];
  }
  const method = lines[0];
  const bare = method === 'GET' || method === 'HEAD';
  const options = { method, headers };
  if (!bare && body !== null) {
    options.body = body;
    options.duplex = 'half';
  }
  return new globalThis.Request(`${scheme}://${host}${lines[1]}`, options);
}

function beginFetch(stream, head, body) {
  inFlight++;
  sole = stream;
  let value;
  try {
    value = handler(webRequest(head, body), process.env, afterwards);
  } catch (error) {
    return fail(stream, error);
  }
  if (!isPromise(value)) return answerWeb(stream, value);
  value.then((value) => answerWeb(stream, value), (error) => fail(stream, error));
}

function isWebResponse(value) {
  return value !== null && typeof value === 'object' && typeof value.arrayBuffer === 'function' && typeof value.headers?.getSetCookie === 'function';
}

function answerWeb(stream, response) {
  sendWeb(stream, response).catch((error) => fail(stream, error));
}

async function sendWeb(stream, response) {
  if (!isWebResponse(response)) throw new TypeError('fetch() did not return a Response');
  let text = String(response.status);
  for (const [name, value] of response.headers) text += line(name, value);
  const head = Buffer.from(text, 'latin1');
  if (response.body === null) {
    inFlight--;
    return sendAnswer(RESPONSE | LAST, stream, head, '');
  }
  const reader = response.body.getReader();
  const first = await reader.read();
  if (first.done) {
    inFlight--;
    return sendAnswer(RESPONSE | LAST, stream, head, '');
  }
  // Most bodies are one piece: if the end comes in this turn of the loop, the answer is one frame.
  const second = reader.read();
  const quick = await Promise.race([second, new Promise((resolve) => setImmediate(resolve, null))]);
  const bytes = asBytes(first.value);
  if (quick !== null && quick.done && bytes.length <= WINDOW) {
    inFlight--;
    return sendAnswer(RESPONSE | LAST, stream, head, bytes);
  }
  sendAnswer(RESPONSE, stream, head, '');
  const download = new Download(stream);
  let wanted = await download.write(bytes);
  for (let piece = await second; wanted && !piece.done; piece = await reader.read()) {
    wanted = await download.write(asBytes(piece.value));
  }
  if (!wanted) reader.cancel().catch(() => {});
  inFlight--;
  download.end();
}

function asBytes(value) {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return Buffer.from(value);
  throw new TypeError('a body has to be made of bytes');
}

let streaming = false;

// Only `fetch` reads a body as it comes; the others are called with all of it, as express does.
function beginUpload(stream, head, upload) {
  if (streaming) return begin(stream, head, upload.readable());
  upload.whole().then((body) => begin(stream, head, body), () => {});
}

// ---------------------------------------------------------------- output

function report(error) {
  print(2, `${describe(error)}\n`);
}

const partial = ['', '', ''];

function print(from, text) {
  const lines = (partial[from] + text).split('\n');
  partial[from] = lines.pop();
  if (partial[from].length > LINE_MAX) {
    lines.push(partial[from]);
    partial[from] = '';
  }
  // What cannot be followed belongs to a request only where no other could have printed.
  const stream = asking.getStore()?.stream ?? (inFlight === 1 ? sole : 0);
  // Of a longer line more than that is sent, so that the server knows that it is cut.
  for (const line of lines) sendText(LOG, stream, from, line.length > LINE_MAX ? line.slice(0, LINE_MAX + 1) : line);
}

function printer(from) {
  const decoder = new StringDecoder('utf8');
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      print(from, typeof chunk === 'string' ? chunk : decoder.write(chunk));
      done();
    },
  });
  stream.fd = from;
  return stream;
}

for (const [name, from] of [['stdout', 1], ['stderr', 2]]) {
  const stream = printer(from);
  Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
}

// ---------------------------------------------------------------- becoming a function

// While it waits, a worker loads what would otherwise take its time when it becomes a function or is first called.
let warming = setTimeout(() => {
  warming = null;
  void globalThis.Request, void globalThis.Response, void globalThis.Headers;
  void require('node:http'), void require('node:dns');
  import('data:text/javascript,').catch(() => {});
}, 20);

async function specialise(order) {
  if (warming !== null) clearTimeout(warming);
  try {
    Object.assign(process.env, order.variables);
    attributeCalls();
    if (order.denial) explainDenial(order.denial);
    const [file, name] = locate(order.path, order.entry ?? '');
    const found = await load(file);
    choose(pick(found, name, file), name);
    send(READY, 0);
  } catch (error) {
    const text = error instanceof SyntaxError ? syntax(error) : error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    sendText(FAILED | LAST, 0, 0, text.split('\n')[0]);
  }
  flush();
}

// V8 keeps the place of a syntax error in the first line of the stack.
function syntax(error) {
  const place = /^(.*):(\d+)$/m.exec(error.stack?.split('\n')[0] ?? '');
  return place === null ? `SyntaxError: ${error.message}` : `SyntaxError: ${error.message} (${path.basename(place[1])}:${place[2]})`;
}

const EXTENSIONS = ['', '.js', '.mjs', '.cjs'];

function isFile(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

function withExtension(file) {
  const found = EXTENSIONS.find((extension) => isFile(file + extension));
  return found === undefined ? null : file + found;
}

// Which file, and which of its exports; an empty name means the default one.
function locate(code, entry) {
  if (isFile(code)) return [code, entry === '' || sameFile(code, entry) ? '' : entry.slice(entry.lastIndexOf('.') + 1)];
  if (entry === '') return [mainOf(code), ''];
  const whole = within(code, entry);
  if (whole !== null) return [whole, ''];
  const dot = entry.lastIndexOf('.');
  const file = dot < 0 ? null : within(code, entry.slice(0, dot));
  if (file !== null) return [file, entry.slice(dot + 1)];
  if (dot < 0) {
    const main = mainOf(code);
    return [main, entry];
  }
  throw new Error(`no file for the entry point ${JSON.stringify(entry)}`);
}

function sameFile(code, entry) {
  const base = path.basename(code);
  return base === entry || path.parse(base).name === entry;
}

function within(code, name) {
  const file = path.resolve(code, name);
  return file.startsWith(code + path.sep) ? withExtension(file) : null;
}

function mainOf(code) {
  const manifest = path.join(code, 'package.json');
  if (isFile(manifest)) {
    const main = JSON.parse(fs.readFileSync(manifest, 'utf8')).main;
    const file = typeof main === 'string' ? within(code, main) ?? within(code, path.join(main, 'index')) : null;
    if (file !== null) return file;
  }
  const index = within(code, 'index') ?? within(code, 'main');
  if (index !== null) return index;
  const scripts = fs.readdirSync(code).filter((name) => /\.[cm]?js$/.test(name));
  if (scripts.length === 1) return path.join(code, scripts[0]);
  throw new Error('no entry point was given and the package has no main, no index.js and not one single script');
}

async function load(file) {
  if (!file.endsWith('.mjs')) {
    try {
      return require(file);
    } catch (error) {
      const isModule = error.code === 'ERR_REQUIRE_ESM' || error.code === 'ERR_REQUIRE_ASYNC_MODULE' ||
        (error instanceof SyntaxError && /\b(import|export)\b/.test(error.message));
      if (!isModule) throw error;
    }
  }
  const { pathToFileURL } = require('node:url');
  try {
    return await import(pathToFileURL(file));
  } catch (error) {
    if (!(error instanceof SyntaxError) || file.endsWith('.mjs')) throw error;
    // Older versions read every .js file outside of a package as CommonJS.
    return import(`data:text/javascript;base64,${fs.readFileSync(file).toString('base64')}`);
  }
}

function pick(found, name, file) {
  if (name !== '') {
    const value = found?.[name] ?? found?.default?.[name];
    if (value === undefined) {
      const names = Object.keys(found ?? {}).filter((key) => key !== '__esModule').join(', ');
      throw new Error(`${path.basename(file)} has no export ${JSON.stringify(name)}${names === '' ? '' : `, only ${names}`}`);
    }
    return value;
  }
  const value = found !== null && typeof found === 'object' && found.default !== undefined ? found.default : found;
  if (value !== null && typeof value === 'object' && value.default !== undefined) return value.default;
  return value;
}

function choose(value, name) {
  if (typeof value === 'function') {
    handler = value;
    begin = value.length < 2 ? beginContext : name === 'main' ? beginInput : beginCallback;
  } else if (typeof value?.fetch === 'function') {
    handler = value.fetch.bind(value);
    begin = beginFetch;
    streaming = true;
    // The classes are made on first use, which should not be the first request.
    void globalThis.Request, void globalThis.Response;
  } else {
    throw new TypeError('the entry point is neither a function nor an object with fetch()');
  }
}

process.on('exit', flush);
process.on('unhandledRejection', report);
process.on('uncaughtException', (error) => {
  report(error);
  flush();
  process.exit(1);
});

const socket = new net.Socket({
  fd: 3,
  readable: true,
  writable: true,
  onread: { buffer: Buffer.allocUnsafeSlow(64 * 1024), callback: received },
});
socket.on('end', () => process.exit(0));
socket.on('error', () => process.exit(0));
send(PONG, 0);
