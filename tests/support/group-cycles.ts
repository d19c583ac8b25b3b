import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { SPLIT_ALL } from './rank-devices.ts';
import { tinyModel } from './tiny-model.ts';

/** What the lives of groups are made of. */
export interface GroupCycles {
  readonly groups: number;
  /** The devices of one group, which disposes them. */
  open(): readonly Device[];
  /** Called while a group has a model, and when both are gone: checks what the devices' driver knows. */
  living?(): void;
  gone?(): void;
}

/** What a process may grow by, in MiB, after the first group. */
const MOST_GROWTH = 200;

/** Checks that groups with a model each come and go without growth, say the same, and leave nothing. */
export async function checkGroupCycles({ groups, open, living, gone }: GroupCycles): Promise<void> {
  const life = async () => {
    const device = new DeviceGroup(open(), SPLIT_ALL);
    const parts = { gguf: await tinyModel('Q4_0'), device, architectures: ALL_ARCHITECTURES };
    const model = await LanguageModel.open(parts, { context: 32, batch: 2 });
    const text = await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    living?.();
    await model.dispose();
    assert.equal(device.liveObjects(), 0);
    gone?.();
    return text;
  };
  const expected = await life();
  const { rss } = process.memoryUsage();
  for (let i = 1; i < groups; i++) assert.equal(await life(), expected, `group ${i}`);
  const grown = (process.memoryUsage().rss - rss) / 2 ** 20;
  assert.ok(grown < MOST_GROWTH, `${grown.toFixed(0)} MiB more`);
}
