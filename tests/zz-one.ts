import { Emulator } from './support/native/emulator.ts';
import { ALL_CASES } from './support/contract/cases/index.ts';
import { caseData } from './support/contract/case-data.ts';
import { runCase } from './support/contract/run-case.ts';
import { elementsOf } from './support/contract/compare.ts';
import { openReferenceDevice } from '../src/devices/reference/index.ts';
const emulator = await Emulator.open(process.env.EMU_TARGET ?? 'gfx1100');
const device = emulator.device({});
for (const c of ALL_CASES.filter((c) => `${c.op}: ${c.name}`.includes(process.argv[2] ?? ''))) {
  const data = caseData(c);
  const want = await runCase(openReferenceDevice(), data);
  let have;
  try { have = await runCase(device, data); } catch (e) { console.log(c.name, 'FAILED', e, emulator.why()); process.exit(1); }
  for (const { name, tensor } of data.graph.outputs) {
    const a = elementsOf(have.outputs.get(name)!, tensor.type), b = elementsOf(want.outputs.get(name)!, tensor.type);
    const rows = new Map<number, string[]>();
    let e = 0, s = 0;
    a.forEach((v, i) => { const w = b[i]!; if (Number.isFinite(w)) { e += (v - w) ** 2; s += w * w; } if (!(Math.abs(v - w) <= 0.05 * Math.abs(w) + 0.05) && !Object.is(v, w)) { const r = Math.floor(i / tensor.width); rows.set(r, [...(rows.get(r) ?? []), `${i % tensor.width}: ${v} want ${w}`]); } });
    console.log(c.op, c.name, name, 'nmse', e / s, have.violations.slice(0, 3));
    for (const [r, l] of [...rows].slice(0, 6)) console.log('  row', r, 'of', tensor.width, l.length, l.slice(0, 3).join(' | '));
  }
}
await device[Symbol.asyncDispose]();
await emulator[Symbol.asyncDispose]();
