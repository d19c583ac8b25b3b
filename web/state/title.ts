import type { Turn } from './chat-store.ts';
import { contentOf } from './context-window.ts';
import type { ChatEngine } from './engine.ts';
import { said } from './summary.ts';
import { TEXTS } from '../texts.ts';

/** Characters of a first message that become the title. */
const TITLE_LENGTH = 60;
/** Tokens that a model may write for a title, and characters of a first message that it reads for that. */
const TITLE_TOKENS = 24;
const TITLED_CHARACTERS = 1000;
/** What stands around titles that models write. */
const AROUND_TITLE = /^[\s"“„'#*`]+|[\s"”“'*`.]+$/g;

/** The title of a conversation that begins so: its first words, or the name of the first file. */
export function wordsTitle({ text, attachments = [] }: Pick<Turn, 'text' | 'attachments'>): string {
  const words = text.trim().replaceAll(/\s+/g, ' ') || (attachments[0]?.name ?? '');
  return beginOf(words);
}

/**
 * The title that the model writes for a conversation whose first words are none; undefined if they are, or the model writes none, and
 * for a model in this browser, which would have to read the conversation again after that. Never rejects.
 */
export async function modelTitle(
  engine: ChatEngine,
  [question, answer]: readonly Turn[],
  signal: AbortSignal,
): Promise<string | undefined> {
  // A short question about a file is a title.
  const begin = question ? (question.text || contentOf(question)).trim() : '';
  if (engine.place !== 'server' || begin.length <= TITLE_LENGTH || answer?.state !== 'done') return undefined;
  try {
    const asked = TEXTS.titleAsk(begin.slice(0, TITLED_CHARACTERS));
    const [line = ''] = (await said(engine, asked, { maxTokens: TITLE_TOKENS, signal })).split('\n');
    const title = beginOf(line.replaceAll(AROUND_TITLE, ''));
    return /\p{L}/u.test(title) && !signal.aborted ? title : undefined;
  } catch {
    // The first words stay.
    return undefined;
  }
}

/** As much as a title may have; characters of two code units stay whole. */
function beginOf(text: string): string {
  return text
    .slice(0, TITLE_LENGTH)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim();
}
