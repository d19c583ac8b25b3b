import type { Device, Step, Stream } from '../../../src/device/index.ts';
import { DeviceGroup } from '../../../src/devices/group/index.ts';
import type { HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';
import { changed } from '../changed.ts';
import type { MortalDevice } from '../device-loss.ts';
import { SPLIT_ALL } from '../rank-devices.ts';

/**
 * A group that is lost because its last card hangs: the steps of that card do nothing, and the others wait for it in vain.
 * `patience` is how often a kernel looks before it gives up, by default as often as outside of tests.
 */
export function hangingGroup(
  cards: readonly HipCudaDevice[],
  link: Parameters<HipCudaDevice['linkPeers']>[1] = {},
): MortalDevice {
  const [first] = cards as [HipCudaDevice];
  const last = cards.at(-1) as HipCudaDevice;
  let hangs = false;
  const run = (stream: Stream, step: Step) => {
    if (!hangs) stream.run(step);
  };
  const group = [
    changed<Device>(first, { linkPeers: () => first.linkPeers(cards, link) }),
    ...cards.slice(1, -1),
    changed<Device>(last, {
      createStream: (label) => {
        const stream = last.createStream(label);
        return changed<Stream>(stream, { run: (step) => run(stream, step) });
      },
    }),
  ];
  return {
    device: new DeviceGroup(group, SPLIT_ALL),
    lose: () => {
      hangs = true;
    },
  };
}
