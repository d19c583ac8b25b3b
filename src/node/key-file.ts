import { readFile } from 'node:fs/promises';
import { fail } from '../base/errors.ts';
import type { ApiKey } from '../server/index.ts';

const FORM = 'KEY [name=NAME] [concurrency=N] [requests-per-minute=N] [priority=yes|no]';

/**
 * The API keys of a file: one key per line, followed by its owner and limits; empty lines and those that begin with #
 * are ignored. Rejects with `INVALID_ARGUMENT`, which names a line but no key.
 */
export async function keysInFile(path: string): Promise<ApiKey[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) =>
    fail(
      'INVALID_ARGUMENT',
      { name: 'the key file', found: path, expected: 'a file that can be read' },
      error,
    ),
  );
  return text.split(/\r?\n/).flatMap((line, index) => {
    const words = line.trim().split(/\s+/);
    const [key = ''] = words;
    return key === '' || key.startsWith('#') ? [] : [{ key, ...limitsOf(words.slice(1), index + 1) }];
  });
}

function limitsOf(words: readonly string[], line: number): Omit<ApiKey, 'key'> {
  const wrong = (): never =>
    fail('INVALID_ARGUMENT', { name: 'the key file', found: `line ${line} of another form`, expected: FORM });
  const limits: { -readonly [K in keyof Omit<ApiKey, 'key'>]: ApiKey[K] } = {};
  for (const word of words) {
    const [, name, value = ''] = /^([\w-]+)=(\S+)$/.exec(word) ?? wrong();
    const count = /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
    if (name === 'name') limits.name = value;
    else if (name === 'concurrency') limits.concurrency = count ?? wrong();
    else if (name === 'requests-per-minute') limits.requestsPerMinute = count ?? wrong();
    else if (name === 'priority' && (value === 'yes' || value === 'no'))
      limits.mayPrioritize = value === 'yes';
    else wrong();
  }
  return limits;
}
