import { fail } from '../../base/errors.ts';

/** A file that may be part of a model: its path in the repository, and its size in bytes. */
export interface GgufPart {
  readonly path: string;
  readonly size: number;
}

/** A model as a repository has it in one quantization: one file, or the parts of a split one in order. */
export interface GgufVariant<Part extends GgufPart = GgufPart> {
  /** The quantization by its usual name, `Q4_K_M`; the file's name if it has none. */
  readonly quantization: string;
  readonly files: readonly Part[];
  readonly bytes: number;
}

/** The models of a repository, the smallest first, and the files of image and audio encoders that belong to them. */
export interface GgufVariants<Part extends GgufPart = GgufPart> {
  readonly models: readonly GgufVariant<Part>[];
  readonly projectors: readonly Part[];
}

const SPLIT = /-(\d{5})-of-(\d{5})\.gguf$/i;
const PROJECTOR = /(?:^|[/_.-])mmproj(?:[_.-]|$)/i;
/** Files beside models that hold no model: statistics for quantization. */
const IMATRIX = /(?:^|[/_.-])imatrix(?:[_.-]|$)/i;
/** A quantization in a file's name: ggml's types and mixes, with what Unsloth (`UD-`) and others add. */
const QUANTIZATION =
  /(?:^|[/._-])((?:UD-)?(?:I?Q\d(?:_(?:K(?:_(?:XXS|XS|XL|S|M|L))?|XXS|XS|NL|S|M|L|[01](?:_\d){0,2}))?|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F(?:P)?(?:16|32)))(?=$|[/._-])/gi;

/**
 * What is taken where nothing is asked for, in this order: as in llama.cpp, Q4_K_M, the usual balance of size and quality; then
 * what is nearest to it.
 */
const PREFERENCE = [
  'Q4_K_M',
  'UD-Q4_K_XL',
  'Q4_K_S',
  'MXFP4_MOE',
  'MXFP4',
  'Q4_0',
  'IQ4_NL',
  'IQ4_XS',
  'Q4_1',
  'Q5_K_M',
  'Q5_K_S',
  'Q5_0',
  'Q6_K',
  'Q8_0',
];

/** Groups a repository's files into models. Split models that lack a part are left out. */
export function variantsOf<Part extends GgufPart>(files: readonly Part[]): GgufVariants<Part> {
  const ggufs = files.filter(({ path }) => /\.gguf$/i.test(path) && !IMATRIX.test(path));
  const groups = new Map<string, Part[]>();
  for (const file of ggufs.filter(({ path }) => !PROJECTOR.test(path))) {
    const key = file.path.replace(SPLIT, '-of-$2.gguf');
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const models = [...groups.values()].flatMap((parts) => {
    const sorted = parts.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const [first] = sorted as [Part];
    const [, , count = '1'] = SPLIT.exec(first.path) ?? [];
    if (sorted.length !== Number(count)) return [];
    const bytes = sorted.reduce((sum, { size }) => sum + size, 0);
    return [{ quantization: quantizationOf(first.path), files: sorted, bytes }];
  });
  return {
    models: models.sort((a, b) => a.bytes - b.bytes),
    projectors: ggufs.filter(({ path }) => PROJECTOR.test(path)),
  };
}

/** Why a repository has no model that can be pulled. */
export function whyNoModel(paths: readonly string[]): string {
  if (paths.some((path) => /\.gguf$/i.test(path) && SPLIT.test(path))) {
    return 'parts of its split models are missing in this repository';
  }
  if (paths.some((path) => /\.gguf[.-](?:part|split)/i.test(path))) {
    return 'its files are pieces that are put together first: download them, and join them with cat in their order';
  }
  const what = 'there is no GGUF file in this repository';
  return paths.some((path) => path.endsWith('.safetensors'))
    ? `${what}, but safetensors: look for one whose name ends in -GGUF, or download it and use rocmforge convert`
    : what;
}

/** The quantization that a file's path names last; its name without the extension if it names none. */
export function quantizationOf(path: string): string {
  const stem = path.replace(SPLIT, '').replace(/\.gguf$/i, '');
  const found = [...stem.matchAll(QUANTIZATION)].at(-1)?.[1];
  return found === undefined ? stem.slice(stem.lastIndexOf('/') + 1) : found.toUpperCase();
}

/** The variant taken where the name leaves it open. */
export function preferredVariant<Part extends GgufPart>(
  models: readonly GgufVariant<Part>[],
): GgufVariant<Part> | undefined {
  for (const name of PREFERENCE) {
    const found = models.find(({ quantization }) => quantization === name);
    if (found) return found;
  }
  return models[0];
}

/**
 * The variant of a quantization, or that has a file of the path. Throws `HUB_NOT_FOUND` with those that there are.
 */
export function namedVariant<Part extends GgufPart>(
  models: readonly GgufVariant<Part>[],
  {
    model,
    quantization,
    file,
  }: {
    readonly model: string;
    readonly quantization?: string | undefined;
    readonly file?: string | undefined;
  },
): GgufVariant<Part> {
  const wanted = quantization?.toUpperCase();
  const exact = models.filter((variant) =>
    file === undefined
      ? variant.quantization.toUpperCase() === wanted
      : variant.files.some(({ path }) => path === file || path.endsWith(`/${file}`)),
  );
  const near =
    exact.length > 0 || wanted === undefined
      ? exact
      : models.filter(({ files: [first] }) => first?.path.toUpperCase().includes(wanted));
  const [found, other] = near;
  const known = models.map((variant) => variant.quantization).join(', ') || 'no GGUF file';
  if (!found) {
    const what =
      file === undefined ? `there is no ${quantization ?? 'GGUF file'}` : `there is no file ${file}`;
    return fail('HUB_NOT_FOUND', { model, what, known });
  }
  if (!other) return found;
  const paths = near.map(({ files: [first] }) => first?.path).join(', ');
  return fail('HUB_NOT_FOUND', {
    model,
    what: `${quantization ?? file} is not one model but several`,
    known: paths,
  });
}
