// What both roles share over HTTP: headers, bodies and events, as files write them.

import { bytesOf } from './stage.mjs';

const PIECE = 7;

/** The pieces in which a body arrives. */
export function pieces(bytes, feed) {
  const length = { whole: Math.max(bytes.length, 1), bytes: 1, trailing: PIECE }[feed];
  const all = [];
  for (let at = 0; at < bytes.length; at += length) all.push(bytes.subarray(at, at + length));
  return all;
}

const latin1 = (text) => Buffer.from(text, 'utf8').toString('latin1');

/** Headers on top of others, as pairs. */
export function headers(defaults, written) {
  const all = new Map(Object.entries(defaults).map(([name, value]) => [name, [value]]));
  for (const [name, value] of Object.entries(written ?? {})) {
    all.set(name, value === null ? [] : Array.isArray(value) ? value : [value]);
  }
  return [...all].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([name, values]) => values.map((value) => [name, latin1(value)]));
}

/** Pairs as an object, to be compared. */
export function headersText(pairs) {
  const all = new Map();
  for (const [name, value] of pairs) {
    const text = Buffer.from(value, 'latin1').toString('utf8');
    all.set(name, [...(all.get(name) ?? []), text]);
  }
  return JSON.stringify(Object.fromEntries([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values])));
}

/** A body as what is expected of it can be compared with. */
export function asExpected(expected, text) {
  if (expected?.kind === 'string') return JSON.stringify(text);
  return text === '' ? 'null' : text;
}

/** Compares the members that a file names. */
export function compareMembers(stage, tree, got) {
  for (const [name, value] of tree.members) {
    const text = got(name, value);
    if (text === undefined) throw new Error(`there is no ${name}`);
    try {
      stage.kept.compare(value.text, text);
    } catch (error) {
      throw new Error(`${name} ${error.message}`, { cause: error });
    }
  }
}

/** An event, or a comment, from its lines. */
export function readBlock(text) {
  const lines = text.split('\n');
  if (lines.every((line) => line.startsWith(':'))) return { kind: 'comment' };
  const block = { kind: 'event' };
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`;
    else if (['id', 'event', 'retry'].includes(name)) block[name] = value;
    else throw new Error(`an event has no line ${name}`);
  }
  return block;
}

/** An event as an object, to be compared. */
export function blockText(block, tree) {
  const members = [];
  if (block.data !== undefined) members.push(`"data":${asExpected(tree.members.get('data'), block.data)}`);
  for (const name of ['id', 'event']) {
    if (block[name] !== undefined) members.push(`${JSON.stringify(name)}:${JSON.stringify(block[name])}`);
  }
  if (block.retry !== undefined) members.push(`"retry":${block.retry}`);
  return `{${members.join(',')}}`;
}

/** The bytes of an event as a file writes it. */
export function writeBlock(stage, tree) {
  const member = (name) => tree.members.get(name);
  const plain = (name) => stage.parse(member(name));
  let out = '';
  for (const name of ['id', 'event', 'retry']) if (member(name) !== undefined) out += `${name}: ${plain(name)}\n`;
  if (member('data') !== undefined) {
    const text = bytesOf(member('data'), stage.kept).toString('utf8');
    for (const line of text.split('\n')) out += `data: ${stage.kept.fill(line)}\n`;
  }
  return Buffer.from(`${out}\n`);
}
