import { JsonMachine } from './json-machine.ts';
import type { Reading, Scanner } from './scanner.ts';

/** How a JSON value ended. */
export type JsonEnd = 'whole' | 'cut' | 'malformed';

/**
 * Parses one JSON value without control tokens, emitting it as it arrives; raw control characters in strings, which
 * models write, are emitted as escapes. A malformed value is emitted up to the error, where the scanner stops.
 */
export function* readJson(scanner: Scanner, give: (text: string) => void): Reading<JsonEnd> {
  const machine = new JsonMachine();
  for (;;) {
    const from = scanner.place;
    const { plainRest: rest } = scanner;
    const isBeforeControl = rest.length < scanner.rest.length;
    let text = '';
    let end: JsonEnd | undefined;
    let taken = 0;
    for (; taken < rest.length && end === undefined; taken++) {
      const character = rest[taken] as string;
      const isInString = machine.isInString;
      const step = machine.step(character);
      if (step === 'wrong') end = 'malformed';
      else if (step === 'last' || step === 'behind') end = 'whole';
      if (step === 'wrong' || step === 'behind') break;
      text += isInString && character < ' ' ? escaped(character) : character;
    }
    scanner.goTo(from + taken);
    if (text !== '') give(text);
    if (end !== undefined) return end;
    if (isBeforeControl) return machine.isWholeBare ? 'whole' : 'malformed';
    if (scanner.isEnded) return machine.isWholeBare ? 'whole' : 'cut';
    yield;
  }
}

/** Escapes text for a JSON string, without the quotes. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Parses a JSON string and returns its value; undefined for anything else, which may be partly consumed. */
export function* readJsonString(scanner: Scanner): Reading<string | undefined> {
  const read = yield* readWholeJson(scanner);
  return typeof read?.value === 'string' ? read.value : undefined;
}

/**
 * Parses a JSON value and returns it; undefined when it is cut off or malformed, and then it may be partly consumed.
 */
export function* readWholeJson(scanner: Scanner): Reading<{ value: unknown; text: string } | undefined> {
  let text = '';
  const end = yield* readJson(scanner, (piece) => {
    text += piece;
  });
  if (end !== 'whole') return undefined;
  return { value: JSON.parse(text), text };
}
