import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError, type RocmforgeError } from '../../../src/base/errors.ts';
import { schemaGrammar, type TokenGrammar } from '../../../src/grammar/index.ts';
import { byteGrammar, isText } from '../../support/grammar/byte-matcher.ts';
import { sharedPath } from '../../support/shared.ts';

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly {
    readonly description: string;
    readonly data: unknown;
    readonly valid: boolean;
  }[];
}

const SUITE = sharedPath('json-schema-suite', 'draft2020-12');

/** Keywords for which a schema may be refused. */
const MAY_BE_REFUSED = new Set(['$dynamicRef', '$ref', '$schema', 'not', 'if', 'uniqueItems']);

function groupsOf(folder: string): { file: string; group: Group }[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.flatMap((file) => {
    return (JSON.parse(readFileSync(join(folder, file), 'utf8')) as Group[]).map((group) => ({
      file,
      group,
    }));
  });
}

/** The grammar of a schema, or why it is refused; undefined where nothing satisfies it. */
function tryGrammar(
  schema: unknown,
  formats: 'annotation' | 'assertion',
): TokenGrammar | RocmforgeError | undefined {
  try {
    return byteGrammar(schemaGrammar(schema, { formats }));
  } catch (error) {
    assert.ok(isRocmforgeError(error), String(error));
    return /no value satisfies/.test(error.message) ? undefined : error;
  }
}

test(
  'the required tests of the JSON-Schema-Test-Suite hold',
  { skip: SUITE === undefined && 'no shared suite' },
  (context) => {
    const refused: string[] = [];
    const groups = groupsOf(SUITE ?? '');
    let instances = 0;
    for (const { file, group } of groups) {
      const grammar = tryGrammar(group.schema, 'annotation');
      if (isRocmforgeError(grammar)) {
        assert.ok(
          isRocmforgeError(grammar, 'SCHEMA_UNSUPPORTED'),
          `${file}: ${group.description}: ${grammar.message}`,
        );
        assert.ok(
          MAY_BE_REFUSED.has(grammar.params.keyword),
          `${file}: ${group.description}: ${grammar.message}`,
        );
        refused.push(`${file} ${grammar.params.keyword}`);
        continue;
      }
      for (const { data, description, valid } of group.tests) {
        instances++;
        const accepted: boolean = grammar !== undefined && isText(grammar, JSON.stringify(data));
        assert.equal(
          accepted,
          valid,
          `${file}: ${group.description}: ${description}: ${JSON.stringify(group.schema)}`,
        );
      }
    }
    const share = refused.length / groups.length;
    context.diagnostic(
      `${groups.length} schemas, ${refused.length} refused (${(100 * share).toFixed(1)} %), ${instances} instances`,
    );
    assert.ok(share <= 0.1, refused.join('\n'));
  },
);

/** Cases of the suite that formats are not held to, with the reason. */
const FORMAT_EXCEPTIONS: readonly (readonly [file: string, pattern: RegExp, reason: string])[] = [
  ['hostname.json', /A-label/, 'whether punycode decodes to what IDNA allows is no regular language'],
  ['time.json', /leap second.*(?:offset|negative|positive)/, 'leap seconds are taken in UTC alone'],
  ['date-time.json', /leap second.*(?:offset|negative|positive)/, 'leap seconds are taken in UTC alone'],
  ['ecmascript-regex.json', /backreference/, 'whether a name was given before is no regular language'],
];

test(
  'formats are assertions where they are asked to be',
  { skip: SUITE === undefined && 'no shared suite' },
  (context) => {
    let instances = 0;
    const without = new Set<string>();
    for (const { file, group } of groupsOf(join(SUITE ?? '', 'optional', 'format'))) {
      const grammar = tryGrammar(group.schema, 'assertion');
      if (isRocmforgeError(grammar)) {
        without.add(file);
        continue;
      }
      for (const { data, description, valid } of group.tests) {
        const about = `${group.description}: ${description}`;
        if (FORMAT_EXCEPTIONS.some(([name, pattern]) => name === file && pattern.test(about))) continue;
        if (typeof data === 'string' && /\p{Surrogate}/u.test(data)) continue;
        instances++;
        const accepted: boolean = grammar !== undefined && isText(grammar, JSON.stringify(data));
        assert.equal(accepted, valid, `${file}: ${description}: ${JSON.stringify(data)}`);
      }
    }
    assert.deepEqual([...without].sort(), ['idn-email.json', 'idn-hostname.json', 'unknown.json']);
    context.diagnostic(`${instances} instances; not known: ${[...without].join(', ')}`);
  },
);
