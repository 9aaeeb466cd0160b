// JSON as it is written: numbers keep their digits, and every value its text.

/** Reads one JSON value: `{kind, text, …}` with `members`, `items` or `value`. */
export function readTree(text) {
  JSON.parse(text); // what is read below is well-formed
  let at = 0;
  const space = () => {
    while (' \t\r\n'.includes(text[at] ?? '')) at++;
  };
  const token = (pattern) => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text);
    at += found.length;
    return found;
  };
  const list = (close, item) => {
    at++;
    space();
    while (text[at] !== close) {
      item();
      space();
      if (text[at] === ',') at++;
      space();
    }
    at++;
  };
  const string = () => JSON.parse(token(/"(?:[^"\\]|\\.)*"/y));
  const value = () => {
    space();
    const from = at;
    const node = bare();
    node.text = text.slice(from, at);
    return node;
  };
  const bare = () => {
    switch (text[at]) {
      case '{': {
        const members = new Map();
        list('}', () => {
          const name = string();
          space();
          at++;
          members.set(name, value());
        });
        return { kind: 'object', members };
      }
      case '[': {
        const items = [];
        list(']', () => items.push(value()));
        return { kind: 'array', items };
      }
      case '"':
        return { kind: 'string', value: string() };
      default: {
        const found = token(/[-+.\w]+/y);
        return { kind: /^[-0-9]/.test(found) ? 'number' : 'word', value: found };
      }
    }
  };
  return value();
}

const isInteger = (text) => /^-?[0-9]+$/.test(text);

/** Integers are compared to the last digit; `1` is `1.0`. */
function sameNumber(one, other) {
  if (isInteger(one) && isInteger(other)) return BigInt(one) === BigInt(other);
  return Number(one) === Number(other);
}

/** Without white space between the tokens. */
export function compact(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (found) => (found[0] === '"' ? found : ''));
}

/** Values of earlier frames, by the names that the file gives them. */
export class Kept {
  values = new Map();

  fill(text) {
    for (const [name, value] of this.values) text = text.replaceAll(`"$use:${name}"`, () => value);
    return text;
  }

  /** Throws where `got`, a text, is not as expected. */
  compare(expected, got) {
    if (got === undefined) throw new Error(`nothing, instead of ${expected}`);
    const place = this.differs(readTree(this.fill(expected)), readTree(got), '');
    if (place !== undefined) throw new Error(`at ${JSON.stringify(place)}: ${got}\n  expected: ${compact(expected)}`);
  }

  differs(expected, got, place) {
    if (expected.kind === 'string') {
      const word = expected.value;
      if (word === '$any') return undefined;
      if (word === '$string') return got.kind === 'string' ? undefined : place;
      if (word === '$integer') return got.kind === 'number' && !/[.eE]/.test(got.value) ? undefined : place;
      if (word.startsWith('$keep:')) {
        this.values.set(word.slice('$keep:'.length), compact(got.text));
        return undefined;
      }
    }
    if (expected.kind !== got.kind) return place;
    if (expected.kind === 'array') {
      if (expected.items.length !== got.items.length) return place;
      for (const [at, item] of expected.items.entries()) {
        const wrong = this.differs(item, got.items[at], `${place}/${at}`);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    }
    if (expected.kind === 'number') return sameNumber(expected.value, got.value) ? undefined : place;
    if (expected.kind !== 'object') return expected.value === got.value ? undefined : place;
    for (const [name, value] of expected.members) {
      if (name === '$more') continue;
      const came = got.members.get(name);
      const wrong = came === undefined ? `${place}/${name}` : this.differs(value, came, `${place}/${name}`);
      if (wrong !== undefined) return wrong;
    }
    const open = expected.members.has('$more');
    const freeMessage = place.endsWith('/error') && !expected.members.has('message');
    for (const name of got.members.keys()) {
      if (expected.members.has(name) || open || (freeMessage && name === 'message')) continue;
      return `${place}/${name}`;
    }
    return undefined;
  }
}
