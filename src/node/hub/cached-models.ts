import { lstat, readdir, readFile, realpath, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileClaim } from '../file-claim.ts';
import { FileHash } from './file-hash.ts';
import { variantsOf } from './gguf-variants.ts';
import type { HubSettings } from './hub-settings.ts';
import { type ModelName, modelNameText } from './model-name.ts';
import { GENERATION_CONFIG, type KeptFile, type RepoFolder, repoFolders } from './repo-folder.ts';

/** A model that is here whole. */
export interface CachedModel {
  readonly name: ModelName;
  readonly commit: string;
  /** The first part of a split model comes first. */
  readonly files: readonly string[];
  readonly bytes: number;
  /** When its first file was stored. */
  readonly stored: Date;
}

/** What a folder of the cache takes on the disk. */
export interface FolderUse {
  /** The model; the folder's name if it is not about a model of ours. */
  readonly model: string;
  readonly path: string;
  /** All contents. */
  readonly bytes: number;
  /** Of them, those of downloads that did not end. */
  readonly unfinished: number;
}

/** A file that was hashed again. */
export interface VerifiedFile {
  readonly path: string;
  readonly bytes: number;
  /** `unknown` for a file whose hash its place does not tell: a copy where links are not allowed. */
  readonly state: 'right' | 'damaged' | 'unknown';
}

const UNFINISHED = /\.(?:rocmforge-part|incomplete)$/;
const JOURNAL = /\.rocmforge-journal$/;

/** All GGUF models of both caches, by name. Folders that cannot be read are left out. */
export async function cachedModels(settings: HubSettings): Promise<CachedModel[]> {
  const folders = await repoFolders(settings);
  const models = await Promise.all(folders.map((folder) => modelsOf(folder, settings)));
  return models.flat().sort((a, b) => (modelNameText(a.name) < modelNameText(b.name) ? -1 : 1));
}

/** The models that a name stands for: one quantization, or all of a repository if it names none. */
export function modelsNamed(models: readonly CachedModel[], name: ModelName): CachedModel[] {
  return models.filter(({ name: own, files }) => {
    if (own.kind !== 'hub' || name.kind !== 'hub') return modelNameText(own) === modelNameText(name);
    if (own.repo !== name.repo) return false;
    if (name.revision !== 'main' && name.revision !== own.revision) return false;
    if (name.file !== undefined) return files.some((path) => basename(path) === basename(name.file ?? ''));
    return (name.quantization ?? own.quantization)?.toUpperCase() === own.quantization?.toUpperCase();
  });
}

/**
 * Removes models, and contents that nothing else of their repository links to; what other programs keep there stays. Returns the
 * freed bytes. Rejects with errors of files.
 */
export async function removeModels(models: readonly CachedModel[]): Promise<number> {
  let freed = 0;
  for (const { files } of models) {
    const contents = await Promise.all(files.map((path) => realpath(path)));
    for (const path of files) await rm(path);
    const [first = ''] = files;
    const root = repoRootOf(first);
    contents.push(...(await removeLoneConfig(snapshotOf(first))));
    const linked = await linkedContents(root);
    for (const path of contents) {
      if (linked.has(path)) continue;
      const stats = await lstat(path).catch(() => undefined);
      freed += stats?.size ?? 0;
      await rm(path, { force: true });
    }
    await removeEmpty(root);
  }
  return freed;
}

/** Removes downloads that did not end and that no process is busy with. Returns the freed bytes. */
export async function removeUnfinished(settings: HubSettings, name: ModelName | undefined): Promise<number> {
  let freed = 0;
  for (const folder of await repoFolders(settings)) {
    const own = await folder.origin(settings);
    if (!own || (name && sameRepo(own, name) === false)) continue;
    for (const entry of await readdir(folder.blobs).catch(() => [])) {
      if (!UNFINISHED.test(entry) && !JOURNAL.test(entry)) continue;
      if (await FileClaim.isTaken(folder.claim(entry.split('.')[0] as string))) continue;
      const path = join(folder.blobs, entry);
      if (UNFINISHED.test(entry)) freed += await diskBytes(path);
      await rm(path, { force: true });
    }
    await removeEmpty(folder.path);
  }
  return freed;
}

/** Hashes a model's files again. Rejects with `READ_FAILED`. */
export async function verifyModel(
  { files }: CachedModel,
  onHashed: (bytes: number) => void = () => {},
): Promise<VerifiedFile[]> {
  const verified: VerifiedFile[] = [];
  let before = 0;
  for (const path of files) {
    const content = await realpath(path);
    const { size } = await lstat(content);
    const expected = basename(content);
    const kind = expected.length === 64 ? 'sha256' : 'git-sha1';
    if (!/^(?:[0-9a-f]{64}|[0-9a-f]{40})$/.test(expected)) {
      verified.push({ path, bytes: size, state: 'unknown' });
      continue;
    }
    await using hash = new FileHash({ path: content, kind, size }, (bytes) => onHashed(before + bytes));
    const found = await hash.finish(size);
    verified.push({ path, bytes: size, state: found === expected ? 'right' : 'damaged' });
    before += size;
  }
  return verified;
}

/** What every folder of both caches takes, the largest first. */
export async function diskUse(settings: HubSettings): Promise<FolderUse[]> {
  const folders = await repoFolders(settings);
  const uses = await Promise.all(
    folders.map(async (folder): Promise<FolderUse> => {
      const origin = await folder.origin(settings);
      const entries = await readdir(folder.path, { recursive: true }).catch(() => []);
      const sizes = await Promise.all(
        entries.map(async (entry) => {
          const path = join(folder.path, entry);
          return { bytes: await diskBytes(path), isUnfinished: UNFINISHED.test(entry) };
        }),
      );
      const sum = (of: typeof sizes) => of.reduce((total, { bytes }) => total + bytes, 0);
      const model = origin ? modelNameText(origin) : folder.folder;
      const unfinished = sum(sizes.filter(({ isUnfinished }) => isUnfinished));
      return { model, path: folder.path, bytes: sum(sizes), unfinished };
    }),
  );
  return uses.sort((a, b) => b.bytes - a.bytes);
}

async function modelsOf(folder: RepoFolder, settings: HubSettings): Promise<CachedModel[]> {
  const origin = await folder.origin(settings);
  if (!origin) return [];
  const revisions = await revisionsOf(folder);
  const models: CachedModel[] = [];
  for (const commit of await folder.commits()) {
    const revision = revisions.get(commit) ?? commit;
    for (const { quantization, files, bytes } of variantsOf<KeptFile>(await folder.filesOf(commit)).models) {
      const [first] = files as readonly [KeptFile];
      const { mtime } = await lstat(first.location);
      const name = origin.kind === 'hub' ? { ...origin, revision, quantization } : origin;
      models.push({ name, commit, files: files.map(({ location }) => location), bytes, stored: mtime });
    }
  }
  return models;
}

/** The branch or tag of each commit. */
async function revisionsOf({ path }: RepoFolder): Promise<Map<string, string>> {
  const root = join(path, 'refs');
  const revisions = new Map<string, string>();
  for (const entry of await readdir(root, { recursive: true }).catch(() => [])) {
    const commit = await readFile(join(root, entry), 'utf8').catch(() => undefined);
    if (commit !== undefined) revisions.set(commit.trim(), entry.replaceAll('\\', '/'));
  }
  return revisions;
}

function sameRepo(own: ModelName, name: ModelName): boolean {
  return own.kind === 'hub' && name.kind === 'hub'
    ? own.repo === name.repo
    : modelNameText(own) === modelNameText(name);
}

/** The folder of a snapshot, from one of its files. */
function snapshotOf(file: string): string {
  let folder = dirname(file);
  while (basename(dirname(folder)) !== 'snapshots' && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function repoRootOf(file: string): string {
  return dirname(dirname(snapshotOf(file)));
}

/** Removes what was pulled with models, once nothing else is left of a snapshot; the content that it linked to. */
async function removeLoneConfig(snapshot: string): Promise<string[]> {
  const entries = await readdir(snapshot, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => !entry.isDirectory());
  if (files.length !== 1 || files[0]?.name !== GENERATION_CONFIG) return [];
  const path = join(snapshot, GENERATION_CONFIG);
  const content = await realpath(path).catch(() => undefined);
  await rm(path, { force: true });
  return content === undefined ? [] : [content];
}

/** The contents that a repository's snapshots link to. */
async function linkedContents(root: string): Promise<Set<string>> {
  const entries = await readdir(join(root, 'snapshots'), { recursive: true }).catch(() => []);
  const targets = await Promise.all(
    entries.map((entry) => realpath(join(root, 'snapshots', entry)).catch(() => undefined)),
  );
  return new Set(targets.filter((path) => path !== undefined));
}

/** Removes folders without files, and the whole repository if no content is left. */
async function removeEmpty(root: string): Promise<void> {
  const blobs = await readdir(join(root, 'blobs')).catch(() => []);
  const folders = await readdir(join(root, 'snapshots'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  if (blobs.length === 0 && !folders.some((entry) => !entry.isDirectory())) {
    return rm(root, { recursive: true, force: true });
  }
  // The deepest first.
  const paths = folders
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.sort((a, b) => b.length - a.length)) await rmdir(path).catch(() => {});
}

/** Bytes of a regular file on the disk: one with holes takes less than its size. */
async function diskBytes(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile()) return 0;
  return UNFINISHED.test(path) && stats.blocks > 0 ? Math.min(stats.size, stats.blocks * 512) : stats.size;
}
