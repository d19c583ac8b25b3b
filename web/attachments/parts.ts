import type { Archive } from './archive.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { attribute, xmlEvents } from './xml.ts';

/** The paths of the parts that elements of a part refer to by `r:id`, in the order of these elements. */
export async function partsInOrder(archive: Archive, path: string, element: string): Promise<string[]> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const relations = await archive.text(`${folder}_rels/${path.slice(folder.length)}.rels`);
  const targets = new Map<string, string>();
  for (const event of xmlEvents(relations ?? '')) {
    if (event.kind !== 'open' || event.name !== 'Relationship') continue;
    const id = attribute(event.attributes, 'Id');
    const target = attribute(event.attributes, 'Target');
    if (id === undefined || target === undefined) continue;
    targets.set(id, target.startsWith('/') ? target.slice(1) : folder + target);
  }
  const parts: string[] = [];
  for (const event of xmlEvents((await archive.text(path)) ?? '')) {
    if (event.kind !== 'open' || event.name !== element) continue;
    const part = targets.get(attribute(event.attributes, 'r:id') ?? '');
    if (part === undefined) throw new UnreadableFile('broken');
    parts.push(part);
  }
  return parts;
}
