// The steps of a client.

import { Stage, show } from './stage.mjs';

export const CLIENT_VERBS = [
  'connected',
  'renewed',
  'done',
  'progress',
  'need_input',
  'cancelled_input',
  'invoke',
  'cancelled_invoke',
  'notified',
  'listening',
  'connect',
  'call',
  'retry',
  'walk',
  'listen',
  'set_level',
  'cancel',
  'supply',
  'reply',
  'notify',
  'roots_changed',
];

const OPTIONS = {
  progress: 'progress',
  idle_ms: 'idleMs',
  hard_ms: 'hardMs',
  drive_input: 'driveInput',
  meta: 'meta',
  cache: 'cache',
  log_level: 'logLevel',
  partition: 'partition',
};

export class ClientSteps extends Stage {
  options(step) {
    const given = step.more.get('options');
    if (given === undefined) return undefined;
    return Object.fromEntries(
      [...given.members].map(([name, value]) => {
        if (OPTIONS[name] === undefined) throw new Error(`the option ${name} is unknown`);
        return [OPTIONS[name], this.parse(value)];
      }),
    );
  }

  keepCall(step, call) {
    this.names.set(step.more.get('as')?.value ?? '', call);
  }

  take(step) {
    const { value, more } = step;
    const member = (name) => value.members.get(name);
    switch (step.verb) {
      case 'connect':
        return this.machine.connect(this.now);
      case 'call': {
        const params = member('params');
        const raw = params === undefined ? {} : this.raw(params);
        return this.keepCall(step, this.machine.call(member('method').value, raw, this.options(step), this.now));
      }
      case 'retry': {
        const responses = more.get('responses');
        const raw = responses === undefined ? {} : this.raw(responses);
        return this.keepCall(step, this.machine.retry(this.named(more.get('of')), raw, undefined, this.now));
      }
      case 'walk':
        return this.keepCall(step, this.machine.walk(value.value, this.options(step), this.now));
      case 'listen':
        return this.keepCall(step, this.machine.listen(this.parse(value), undefined, this.now));
      case 'set_level':
        return this.keepCall(step, this.machine.setLevel(value.value, this.now));
      case 'cancel':
        return this.machine.cancel(this.named(value), more.get('reason')?.value, this.now);
      case 'supply': {
        const tree = more.get('answer');
        const answer =
          tree.kind === 'string'
            ? tree.value
            : Object.fromEntries([...tree.members].map(([kind, given]) => [kind, this.raw(given)]));
        return this.refused(step, () => this.machine.supplyInput(this.named(value), answer, this.now));
      }
      case 'reply':
        return this.replyTo(this.named(more.get('to')), value);
      case 'notify': {
        const params = member('params');
        return this.machine.notify(member('method').value, params && this.raw(params), this.now);
      }
      case 'roots_changed':
        return this.machine.rootsChanged(this.now);
      default:
        return this.said(step, this.event());
    }
  }

  replyTo(slot, tree) {
    const [[kind, given]] = [...tree.members];
    this.machine.reply(slot, { [kind]: this.raw(given) }, this.now);
  }

  /** Whether an action is of the call that a step names. */
  of(step, call) {
    const name = step.more.get('of');
    return name === undefined || this.named(name) === call;
  }

  said(step, action) {
    const wrong = () => new Error(`instead: ${show(action)}`);
    if (action.kind !== step.verb) throw wrong();
    const { value } = step;
    const compare = (expected, got) => this.kept.compare(expected.text, this.mcp.stringifyJson(got));
    const message = () => {
      if (action.method !== value.members.get('method').value) throw wrong();
      const params = value.members.get('params');
      if (params !== undefined) compare(params, action.params);
    };
    switch (step.verb) {
      case 'connected':
      case 'renewed':
        if (action.server.version !== value.value) throw wrong();
        return undefined;
      case 'done':
        return this.done(step, action);
      case 'progress':
        if (!this.of(step, action.call)) throw wrong();
        return compare(value, action.params);
      case 'need_input':
        if (!this.of(step, action.call) || action.key !== (value.members.get('key')?.value ?? '')) throw wrong();
        message();
        return this.keep(step, action.input);
      case 'cancelled_input':
        if (action.input !== this.named(value)) throw wrong();
        return this.checkReason(step, action.reason);
      case 'invoke': {
        message();
        this.keep(step, action.slot);
        const answer = step.more.get('reply');
        return answer && this.replyTo(action.slot, answer);
      }
      case 'cancelled_invoke':
        if (action.slot !== this.named(value).id) throw wrong();
        return this.checkReason(step, action.reason);
      case 'notified':
        if (!this.of(step, action.subscription)) throw wrong();
        return message();
      default:
        if (!this.of(step, action.call)) throw wrong();
        return compare(value, action.filter);
    }
  }

  done(step, action) {
    const more = (name) => step.more.get(name);
    if (action.call !== this.named(step.value)) throw new Error(`instead: ${show(action)}`);
    const { error } = action;
    if (error === undefined) {
      if (action.isCached !== (more('cached')?.value === 'true')) throw new Error(`cached: ${action.isCached}`);
      if (more('result') === undefined) throw new Error(`it succeeded: ${action.rawResult}`);
      this.kept.compare(more('result').text, action.rawResult);
      return this.kept.compare(more('result').text, this.mcp.stringifyJson(action.result));
    }
    const said = `it failed with ${error.kind}: ${error.message}`;
    if (!(error instanceof this.mcp.CallError) || more('error')?.value !== error.kind) throw new Error(said);
    if (more('code') !== undefined) this.kept.compare(more('code').text, String(error.code));
    if (more('data') !== undefined) this.kept.compare(more('data').text, this.mcp.stringifyJson(error.data ?? null));
    if (more('limit') !== undefined && more('limit').value !== error.bound) throw new Error(`the bound is ${error.bound}`);
    if (more('exchange') !== undefined && more('exchange').value !== error.exchange) throw new Error(`exchange: ${error.exchange}`);
    if (more('status') !== undefined && Number(more('status').value) !== error.status) throw new Error(`status: ${error.status}`);
    return undefined;
  }
}

/** A client of a stream. */
export class ClientStage extends ClientSteps {
  open(version, capabilities) {
    this.machine.connect(this.now);
    const { id, method } = JSON.parse(this.event().text);
    if (method !== 'initialize') throw new Error('no handshake');
    const result = { protocolVersion: version, capabilities, serverInfo: { name: 's', version: '1' } };
    this.say(JSON.stringify({ jsonrpc: '2.0', id, result }));
    this.event();
    const connected = this.event();
    if (connected.kind !== 'connected') throw new Error(`instead of a connection: ${show(connected)}`);
  }
}
