import { JsonMachine } from './json-machine.ts';

/**
 * The members of a JSON object with their values as written, so that large integers and floats keep their precision.
 */
export function membersOf(object: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = behindSpaces(object, object.indexOf('{') + 1);
  while (at < object.length && object[at] !== '}') {
    const key = valueAt(object, at);
    const begin = behindSpaces(object, object.indexOf(':', at + key.length) + 1);
    const value = valueAt(object, begin);
    members.set(JSON.parse(key) as string, value);
    at = behindSpaces(object, begin + value.length);
    if (object[at] === ',') at = behindSpaces(object, at + 1);
  }
  return members;
}

function behindSpaces(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at++;
  return at;
}

/** The JSON value that begins here. */
function valueAt(text: string, from: number): string {
  const machine = new JsonMachine();
  for (let at = from; at < text.length; at++) {
    const step = machine.step(text[at] as string);
    if (step === 'last') return text.slice(from, at + 1);
    if (step === 'behind') return text.slice(from, at).trimEnd();
  }
  return text.slice(from).trimEnd();
}
