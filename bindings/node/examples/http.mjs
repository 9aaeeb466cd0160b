// A server of Streamable HTTP on node:http. Prints its address; the port may be given.
// @ts-check

import { createServer } from 'node:http';

import { Definition, HttpEndpoint, HttpService } from 'mcp-sansio';

const definition = Definition.builder('adder', '1.0.0')
  .tool({
    name: 'add',
    description: 'Adds two numbers',
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  })
  .logging()
  .build();
const service = new HttpService(definition);
const endpoint = new HttpEndpoint(service);

/** @typedef {import('mcp-sansio').HttpExchange | import('mcp-sansio').HttpSession} Machine */
/** @typedef {import('node:http').ServerResponse} Response */
/** Where the answers of a machine go, by exchange. @type {Map<Machine, Map<number, Response>>} */
const answers = new Map();
/** @type {Map<Machine, NodeJS.Timeout>} */
const timers = new Map();

/** @param {Response} to @param {import('mcp-sansio').HttpResponse} response */
function answer(to, { status, headers, body }) {
  to.writeHead(status, headers.flatMap(([name, value]) => [name, value]));
  if (body === undefined) to.flushHeaders();
  else to.end(body);
}

/** Does what a machine says, and wakes it when it wants to be woken. @param {Machine} machine */
function drive(machine) {
  for (let action; (action = machine.poll()) !== undefined; ) {
    switch (action.kind) {
      case 'respond': {
        const to = answers.get(machine)?.get(action.exchange);
        if (to !== undefined) answer(to, action.response);
        if (action.response.body !== undefined) over(machine, action.exchange);
        break;
      }
      case 'chunk': {
        const { exchange, byteLength, text } = action;
        answers.get(machine)?.get(exchange)?.write(text, () => {
          machine.written(exchange, byteLength);
          drive(machine);
        });
        break;
      }
      case 'finish':
        answers.get(machine)?.get(action.exchange)?.end();
        over(machine, action.exchange);
        break;
      case 'listen':
        if (!('accept' in machine)) endpoint.listen(machine);
        break;
      case 'publish':
        for (const other of endpoint.concerned(action.event)) {
          other.deliver(action.event);
          drive(/** @type {Machine} */ (other));
        }
        break;
      case 'invoke': {
        if (action.call !== 'tool') break;
        const { a, b } = action.arguments;
        machine.log({ level: 'info', data: 'adding' }, action.slot);
        machine.reply(action.slot, { tool: { content: [{ type: 'text', text: `${Number(a) + Number(b)}` }] } });
        break;
      }
      case 'closed':
        if ('accept' in machine) endpoint.remove(machine);
        answers.delete(machine);
    }
  }
  clearTimeout(timers.get(machine));
  timers.delete(machine);
  const timeout = machine.pollTimeout();
  if (timeout !== undefined && !machine.isClosed) {
    const wake = () => {
      machine.handleTimeout();
      drive(machine);
    };
    timers.set(machine, setTimeout(wake, Math.max(0, timeout.at - performance.now())));
  }
}

/** An answer is complete, or nobody waits for it. @param {Machine} machine @param {number} exchange */
function over(machine, exchange) {
  if (answers.get(machine)?.delete(exchange) !== true) return;
  if ('accept' in machine) endpoint.exchangeEnded(machine);
  else {
    endpoint.unlisten(machine);
    answers.delete(machine);
  }
}

/** @param {Machine} machine @param {number} exchange @param {Response} to */
function serve(machine, exchange, to) {
  const open = answers.get(machine) ?? new Map();
  answers.set(machine, open.set(exchange, to));
  to.on('close', () => {
    if (answers.get(machine)?.get(exchange) !== to) return;
    machine.disconnected(exchange);
    over(machine, exchange);
    drive(machine);
  });
  drive(machine);
}

const server = createServer(async (from, to) => {
  const { method = '', url = '', rawHeaders } = from;
  const request = service.judge({ method, target: url, headers: rawHeaders });
  try {
    while (request.way === 'body') {
      for await (const chunk of from) {
        request.push(chunk);
        if (request.way !== 'body') break;
      }
      if (request.way === 'body') request.finish(endpoint.seed());
    }
  } catch {
    request.broken();
  }
  if (request.way === 'exchange') return serve(request.exchange(), 0, to);
  if (request.way === 'answered') return answer(to, /** @type {any} */ (request.response));
  const admitted = endpoint.admit(request);
  if (admitted.kind === 'exchange') return serve(admitted.exchange, 0, to);
  if (admitted.kind === 'session') return serve(admitted.session, admitted.session.accept(request), to);
  if (admitted.kind === 'ended') {
    admitted.session.close();
    drive(admitted.session);
  }
  return answer(to, admitted.response);
});

setInterval(() => {
  endpoint.handleTimeout();
  for (let session; (session = endpoint.pollExpired()) !== undefined; ) {
    session.close();
    drive(session);
  }
}, 60_000).unref();

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`http://127.0.0.1:${address.port}/mcp`);
});
