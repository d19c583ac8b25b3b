import {
  type AnswerParserOptions,
  AnswerParser,
  type AnswerPart,
  type Dialect,
} from '../../src/text/index.ts';

/** A call assembled from its parts. */
export interface ReadCall {
  name: string;
  id?: string;
  arguments: string;
  outcome?: string;
}

/** A whole answer. */
export interface ReadAnswer {
  reasoning: string;
  text: string;
  calls: ReadCall[];
  faults: Extract<AnswerPart, { kind: 'fault' }>[];
}

/** The result of parsing an answer pushed in these pieces. */
export function readAnswer(
  dialect: Dialect,
  pieces: Iterable<string>,
  of: AnswerParserOptions = {},
): ReadAnswer {
  const parser = new AnswerParser(dialect, of);
  const read: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  for (const piece of pieces) for (const part of parser.push(piece)) add(read, part);
  for (const part of parser.end()) add(read, part);
  return read;
}

/** Adds a part to the result. */
export function add(read: ReadAnswer, part: AnswerPart): void {
  if (part.kind === 'text') read.text += part.text;
  else if (part.kind === 'reasoning') read.reasoning += part.text;
  else if (part.kind === 'fault') read.faults.push(part);
  else if (part.kind === 'call') {
    if (part.call !== read.calls.length) throw new Error(`call ${part.call} began out of turn`);
    read.calls.push({ name: part.name, arguments: '', ...(part.id !== undefined && { id: part.id }) });
  } else {
    const call = read.calls[part.call];
    if (!call || call.outcome !== undefined) throw new Error(`call ${part.call} is not open`);
    if (part.kind === 'arguments') call.arguments += part.text;
    else Object.assign(call, { outcome: part.outcome }, part.id === undefined ? {} : { id: part.id });
  }
}

/** All splits of a text into two pieces, and into single characters. */
export function* splits(text: string): Generator<string[], void> {
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)];
  yield [...text];
}
