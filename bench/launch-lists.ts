// Lists the GPU launches of every case of the operator contract and every architecture, for every kind of target. `node
// dist/bench/launch-lists.js golden` writes the summary that `tests/full/launch-lists.test.ts` compares with; `node
// dist/bench/launch-lists.js <folder>` writes all launches with their arguments, one file per target: comparing two
// folders shows the effect of a change to the planner or an emitter.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_CASES } from '../tests/support/contract/cases/index.ts';
import { LAUNCH_SUMMARY } from '../tests/support/fixture.ts';
import {
  LISTED_MODELS,
  LISTED_ROWS,
  LISTED_TARGETS,
  launchesOr,
  launchSummary,
  listedGraphs,
  type NamedGraph,
} from '../tests/support/launch-lists.ts';
import { caseGraph } from '../tests/support/hip-cuda/lowered-modules.ts';

const [to] = process.argv.slice(2);
if (to === undefined) throw new Error('say `golden`, or which folder to write to');
if (to === 'golden') writeFileSync(LAUNCH_SUMMARY, `${(await launchSummary()).join('\n')}\n`);
else await writeLists(to);

async function writeLists(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const named: NamedGraph[] = ALL_CASES.map((of) => ({
    name: `case ${of.op}: ${of.name}`,
    graph: caseGraph(of),
  }));
  for (const model of LISTED_MODELS) {
    const graphsFor = await listedGraphs(model);
    for (const rows of LISTED_ROWS) {
      for (const graph of graphsFor(rows)) {
        named.push({ name: `${model.name}, ${rows} rows, ${graph.name}`, graph });
      }
    }
  }
  for (const target of LISTED_TARGETS) {
    const lines = named.flatMap(({ name, graph }) => [
      `## ${name}`,
      ...launchesOr(graph, target).map(
        ({ kernel, grid, details, text = '' }) => `${kernel} ${grid.join('x')} ${details} ${text}`,
      ),
    ]);
    writeFileSync(join(folder, `${target.name.replaceAll(/\W+/g, '-')}.txt`), `${lines.join('\n')}\n`);
  }
}
