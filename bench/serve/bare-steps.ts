import type { LanguageModel } from '../../src/engine/language-model.ts';
import { tableName } from '../../src/model/state-groups.ts';
import { DEFAULT_SAMPLING, SAMPLING_ROW_WORDS, writeSamplingRow } from '../../src/ops/index.ts';

const ROUNDS = 5;

/**
 * Milliseconds of a step that gives one token to each of `rows` sequences after `past` positions: the same step
 * repeatedly, without reading anything back. The model must be idle; its cached prefixes are lost.
 */
export async function bareStep(model: LanguageModel, rows: number, past: number): Promise<number> {
  const { plan, device } = model;
  const batch = plan.planFor(rows, rows);
  const input = batch.input(0);
  input.view('counts').set([rows, rows]);
  input.clearSlotRows();
  const held = plan.setup.state.groups
    .filter(({ kind }) => kind !== 'slots')
    .map((_, place) => plan.kept.read(tableName(place)));
  for (const [place, table] of held.entries()) {
    plan.kept.write(
      tableName(place),
      0,
      table.map((_, i) => i),
    );
  }
  for (let row = 0; row < rows; row++) {
    input.view('ids')[row] = 100 + row;
    input.view('positions')[row] = past;
    input.view('slots')[row] = row;
    input.addSlotRows(row, row, 1);
    input.view('output_rows')[row] = row;
    const parameters = new Int32Array(SAMPLING_ROW_WORDS);
    writeSamplingRow({ ...DEFAULT_SAMPLING, temperature: 0 }, parameters);
    plan.kept.write('parameters', row * SAMPLING_ROW_WORDS, parameters);
  }
  const repetitions = 64;
  await using stream = device.createStream('bare steps');
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const begin = performance.now();
    for (let i = 0; i < repetitions; i++) await plan.run({ stream, batch, kind: 'generate', input });
    await stream.synchronize();
    if (round > 0) times.push((performance.now() - begin) / repetitions);
  }
  for (const [place, table] of held.entries()) plan.kept.write(tableName(place), 0, table);
  model.reset();
  return times.sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
}
