import assert from 'node:assert/strict';
import { wholeOf } from '../../../src/device/index.ts';
import type { HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';
import { F16, F32, type TensorFormat } from '../../../src/formats/index.ts';
import type { TensorInfo } from '../../../src/gguf/index.ts';
import { MemorySource } from '../../../src/io/index.ts';
import { AsyncModelLoader } from '../../../src/load/async-model-loader.ts';
import type { DecodePlace } from '../../../src/load/chunk.ts';
import { LazyTensor, type LazyTensorSetup } from '../../../src/load/lazy-tensor.ts';
import { GraphBuilder, matmul } from '../../../src/ops/index.ts';
import { seededRandom } from '../random.ts';

const ROWS = 37;
const COLUMNS = 512;

/** Compares rows that the device decodes while packing with the host decoders' results. */
export async function decodesAsTheHost(
  device: HipCudaDevice,
  formats: readonly TensorFormat[],
): Promise<void> {
  for (const become of [F32, F16]) {
    const weight = await matrixOf(device, become);
    for (const format of formats) {
      if (format === become) continue;
      assert.equal(await device.readyToDecode(weight, 0, format), true, `${format.name} to ${become.name}`);
      const of = { packed: weight, tensors: [randomTensor(format)] };
      const [here, there] = (await Promise.all([
        loaded(device, of, 'host'),
        loaded(device, of, 'device'),
      ])) as [Uint8Array, Uint8Array];
      assert.ok(here.some((byte) => byte !== 0));
      assert.equal(Buffer.compare(there, here), 0, `${format.name} to ${become.name}`);
    }
  }
}

async function matrixOf(device: HipCudaDevice, format: TensorFormat) {
  const builder = new GraphBuilder('decoding', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  const x = builder.input('x', { axis: 'rows', width: COLUMNS });
  builder.output('y', matmul(builder, x, builder.weight('matrix', format, ROWS, COLUMNS)));
  const { weights } = await device.compile(builder.finish());
  assert.ok(weights[0]);
  return weights[0];
}

function randomTensor(format: TensorFormat): TensorInfo {
  const elementCount = ROWS * COLUMNS;
  const bytes = new Uint8Array((elementCount / format.blockElements) * format.blockBytes);
  format.fillRandom(bytes, seededRandom(format.ggmlType), 1);
  const source = new MemorySource(bytes, 'random');
  const { byteLength } = bytes;
  return { name: 'matrix', format, shape: [COLUMNS, ROWS], elementCount, byteLength, offset: 0, source };
}

/** In pieces that end within the matrix. */
async function loaded(device: HipCudaDevice, of: LazyTensorSetup, decode: DecodePlace): Promise<Uint8Array> {
  using buffer = device.createBuffer(of.packed.byteLength, 'matrix');
  await using loader = new AsyncModelLoader(device, { slotBytes: 8 * 4 * COLUMNS, streams: 2, slots: 3 });
  const tensor = new LazyTensor(of);
  tensor.loadBy(loader, { decode });
  tensor.place(wholeOf(buffer));
  await loader.load([tensor]);
  await using stream = device.createStream('check');
  const found = new Uint8Array(buffer.byteLength);
  await stream.download(wholeOf(buffer), found);
  return found;
}
