import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ByteRanges } from '../../../src/node/hub/byte-ranges.ts';
import { DownloadJournal, readJournal } from '../../../src/node/hub/download-journal.ts';
import { seededRandom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/temporary.ts';

test('ranges behave as a set of bytes', () => {
  const random = seededRandom(3);
  const size = 40;
  const at = () => Math.floor(random() * (size + 1));
  for (let round = 0; round < 200; round++) {
    const ranges = new ByteRanges();
    const bytes = new Set<number>();
    for (let step = 0; step < 12; step++) {
      const [start = 0, end = 0] = [at(), at()].sort((a, b) => a - b);
      const adds = random() < 0.7;
      if (adds) ranges.add(start, end);
      else ranges.remove(start, end);
      for (let byte = start; byte < end; byte++) {
        if (adds) bytes.add(byte);
        else bytes.delete(byte);
      }
    }
    const list = [...ranges];
    assert.deepEqual(
      new Set(list.flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i))),
      bytes,
    );
    assert.ok(
      list.every(([from], i) => i === 0 || from > (list[i - 1]?.[1] ?? 0)),
      'sorted and apart',
    );
    assert.equal(ranges.bytes, bytes.size);
    const first = Array.from({ length: size }, (_, byte) => byte).find((byte) => !bytes.has(byte));
    assert.equal(ranges.prefix, first ?? size);
    const gap = ranges.firstGap(size, 5);
    assert.equal(gap?.[0], first);
    if (gap) {
      assert.ok(gap[1] - gap[0] <= 5 && !Array.from(ranges).some(([from]) => from > gap[0] && from < gap[1]));
    }
  }
});

test('a journal counts what was noted whole, about the same file', async (t) => {
  const path = join(temporaryFolder(t), 'journal');
  const identity = { size: 100, version: 'v1' };
  const journal = await DownloadJournal.open(path, identity);
  await journal.append([
    [0, 10],
    [20, 30],
  ]);
  await journal.close();
  const text = `${JSON.stringify({ journal: 1, ...identity })}\n0 10\n20 30\n`;
  for (const cut of ['40 5', '40 500\n', '40 50', 'x y\n50 60\n', '\0\0\0\0']) {
    writeFileSync(path, text + cut);
    assert.deepEqual(
      [...((await readJournal(path))?.ranges ?? [])],
      [
        [0, 10],
        [20, 30],
      ],
      cut,
    );
    const again = await DownloadJournal.open(path, identity);
    await again.append([[60, 70]]);
    await again.close();
    assert.deepEqual(
      [...((await readJournal(path))?.ranges ?? [])],
      [
        [0, 10],
        [20, 30],
        [60, 70],
      ],
      cut,
    );
  }
  const other = await DownloadJournal.open(path, { size: 100, version: 'v2' });
  assert.equal(other.synced.bytes, 0);
  await other.close();
  for (const broken of ['', '{', '{"journal":2,"size":1,"version":"x"}\n', 'null\n1 2\n']) {
    writeFileSync(path, broken);
    assert.equal(await readJournal(path), undefined, broken);
  }
});
