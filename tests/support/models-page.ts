import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { type FamilyFixture, LARGEST_DIFFERENCE } from './family-fixtures.ts';

/** Where every architecture's random model is held against its golden: the device, and the test that does it. */
export const FAMILY_DEVICES = [
  { device: 'reference', test: 'tests/goldens/families.test.ts' },
  { device: 'cpu', test: 'tests/goldens/families.test.ts' },
  { device: 'hip-cuda', test: 'tests/hip-cuda/families.test.ts' },
  { device: 'webgpu', test: 'tests/webgpu/families.test.ts' },
] as const;

/** The text of docs/models.md for the list that the tests go by. */
export function modelsPage(families: readonly FamilyFixture[]): string {
  const limits = families.map((family) => {
    const cells = FAMILY_DEVICES.map(() => `< ${family.difference ?? LARGEST_DIFFERENCE}`);
    return `| ${labelOf(family)} | ${cells.join(' | ')} |`;
  });
  return [
    '# Models',
    '',
    'A GGUF file runs when its `general.architecture` is in this table. For each of them a small random model (f32 weights,',
    '`rocmforge synth tiny --arch …`) is decoded by llama.cpp and by every device, two texts and what follows them greedily:',
    'the number is how far a logit may be from llama.cpp’s at any position. The greedy ids are equal. Of encoders the',
    'vectors of both texts are compared.',
    '',
    `| architecture | ${FAMILY_DEVICES.map(({ device }) => `\`${device}\``).join(' | ')} |`,
    `|---|${FAMILY_DEVICES.map(() => '---|').join('')}`,
    ...limits,
    '',
    'In the tests `hip-cuda` is the CPU emulation of an AMD GPU, `webgpu` a Vulkan driver that computes on the CPU (SwiftShader);',
    'where a tool for one of them is missing, its tests say that they are skipped. `npm test` runs all of it but families on',
    '`webgpu` whose operators others have, which `npm run test:full` adds. Tests:',
    '',
    ...FAMILY_DEVICES.map(({ device, test }) => `- \`${device}\`: \`${test}\``),
    '',
    'They hold the devices to a golden of LoRA adapters too, to taps, to streamed experts, and to RWKV-7’s logits being the same',
    'however a prompt is cut. `tests/device/cuda.test.ts` and `tests/device/hip*.test.ts` ask all of it of a real card.',
    '',
    'What files of a family vary in (heads, biases, tied embeddings, RoPE scaling, windows by layer, OLMo 3 under OLMo 2’s name,',
    'the text half of GLM-4.1V) is held against llama.cpp on the CPU: `tests/goldens/variants.test.ts`.',
    '',
    'A file is read whole or refused: tensors that nothing is computed with, and settings that would change what is, are an error',
    '(`MODEL_UNREAD`), or a warning where llama.cpp leaves them out, too, or texts do not need them. `rocmforge inspect` lists',
    'them; `--allow-unread` (in the library `allowUnread: true`) runs the file as if it did not have them.',
    '',
    'This page is written by `npm run docs` from the list in `tests/support/family-fixtures.ts`.',
    '',
  ].join('\n');
}

function labelOf({ name, architecture, encodes }: FamilyFixture): string {
  if (encodes) return `\`${name}\` (embeddings)`;
  if (architecture) return `\`${architecture}\` (${name})`;
  const known = ALL_ARCHITECTURES.find(({ names }) => names.includes(name))?.names ?? [name];
  return known.map((one) => `\`${one}\``).join(', ');
}
