/**
 * JSON without loss: integers beyond 2^53 become `BigInt`, and `BigInt` and {@link RawJson} are written as they are.
 */

import { misuse } from './errors';

/** Anything that JSON can say. Integers that a `number` cannot hold are `bigint`. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [name: string]: JsonValue };
/** A JSON object. */
export type JsonObject = { [name: string]: JsonValue };

/**
 * JSON text that goes out as it is: order, spelling and digits are kept. May stand wherever a value is given, and
 * inside of one.
 */
export class RawJson {
  /** The text. */
  readonly text: string;

  /** `text` is one JSON value, as a string or as UTF-8. Throws `MisuseError` if it is not well-formed. */
  constructor(text: string | Uint8Array) {
    this.text = typeof text === 'string' ? text : decoded(text);
    if (!this.text.isWellFormed()) throw misuse('a raw text has half of a surrogate pair: it cannot be sent');
    Object.freeze(this);
  }

  /** Parsed, as {@link parseJson} does. */
  parse(): JsonValue {
    return parseJson(this.text);
  }

  /** @internal JSON.stringify cannot write a raw text: `stringify` notices, and goes another way. */
  toJSON(): string {
    if (collected === undefined) throw NOT_PLAIN;
    return collect(this.text);
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw misuse('a raw text is not UTF-8', cause);
  }
}

const NOT_PLAIN = new TypeError('RawJson is written by the machines, not by JSON.stringify');
/** Marks what stands for a number or a raw text; no peer can know it. */
const MARK = `\u0001${Buffer.from(crypto.getRandomValues(new Uint8Array(12))).toString('hex')}:`;
/** The texts that are put in the places of marks, while they are collected. */
let collected: string[] | undefined;

function collect(text: string): string {
  return MARK + ((collected as string[]).push(text) - 1);
}

const LONG = /[0-9]{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;
const INTEGER = /^-?[0-9]{16,}$/;

/** Parses JSON text. Integers beyond 2^53 become `BigInt`; fractions are `number`, as ever. */
export function parseJson(text: string): JsonValue {
  return (text.length >= 16 && LONG.test(text) ? parseExact(text) : JSON.parse(text)) as JsonValue;
}

function parseExact(text: string): unknown {
  JSON.parse(text); // what is not JSON must not become JSON by what is done below
  const marked = text.replace(TOKEN, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    return JSON.stringify(MARK + token);
  });
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/**
 * Writes a value as JSON text. `BigInt` is written as the integer that it is, {@link RawJson} as its text. Throws
 * `MisuseError` if JSON cannot say it, such as an object that contains itself; its `cause` is what has hindered it.
 */
export function stringifyJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    text = stringifyExact(value);
  }
  return text === undefined ? 'null' : text;
}

function stringifyExact(value: unknown): string | undefined {
  const before = collected;
  const texts: string[] = (collected = []);
  try {
    const text = JSON.stringify(value, (_, plain: unknown) =>
      typeof plain === 'bigint' ? collect(plain.toString()) : plain,
    ) as string | undefined;
    return text === undefined ? undefined : fill(text, texts);
  } catch (cause) {
    const why = cause instanceof Error ? (cause.message.split('\n', 1)[0] as string) : String(cause);
    throw misuse(`the value cannot be written as JSON: ${why}`, cause);
  } finally {
    collected = before;
  }
}

function fill(text: string, texts: string[]): string {
  const mark = JSON.stringify(MARK).slice(0, -1);
  return text.split(mark).reduce((done, rest, at) => {
    if (at === 0) return rest;
    const end = rest.indexOf('"');
    return done + texts[Number(rest.slice(0, end))] + rest.slice(end + 1);
  }, '');
}
