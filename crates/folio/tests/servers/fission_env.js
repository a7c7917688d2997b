// An environment server as Fission knows them: generic until it is told, by HTTP, which function it serves.
// Speaks version 2 of the contract. The function is the module's export, or the one the entry point names, called
// with `{request}` and answering `{status, body, headers}`. Upgrades are echoed.
'use strict';

const http = require('node:http');
const path = require('node:path');

const argument = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
};

let userFunction = null;

function load(filepath, functionName) {
  const [file, member] = (functionName || '').split('.');
  const directory = require('node:fs').statSync(filepath).isDirectory();
  const module = require(directory && file ? path.join(filepath, file) : filepath);
  return member ? module[member] : module.default || module;
}

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function handle(request, response) {
  if (request.url === '/healthz') return response.writeHead(200).end();
  if (request.url === '/v2/specialize' && request.method === 'POST') {
    if (userFunction) return response.writeHead(400).end('Not a generic container');
    const order = JSON.parse(await bodyOf(request));
    try {
      userFunction = load(order.filepath, order.functionName);
      return response.writeHead(202).end();
    } catch (error) {
      return response.writeHead(500).end(String(error.stack));
    }
  }
  if (!userFunction) return response.writeHead(500).end('Generic container: no requests supported');
  request.body = await bodyOf(request);
  try {
    const { status, body, headers } = await userFunction({ request, response });
    response.writeHead(status, headers || {}).end(body);
  } catch (error) {
    console.error(error.stack);
    response.writeHead(500).end('Internal server error');
  }
}

const server = http.createServer(handle);
server.on('upgrade', (request, socket, head) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  socket.write(head);
  socket.pipe(socket);
});
server.listen(Number(argument('--port', process.env.PORT || 8888)), '127.0.0.1');
