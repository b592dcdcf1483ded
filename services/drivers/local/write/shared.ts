import { closeSync } from 'node:fs'
import type { StorePath, Upload } from '../../contract/driver.ts'
import { openForRewriting, removeFile } from '../file.ts'
import { readParts } from './parts.ts'
import { FolderPaths } from '../root.ts'
import { parentOf } from '../../paths/path-text.ts'
import { temporaryNames } from './temporary.ts'
import { constructionOf, partsName, sharedName } from '../../paths/temporary-names.ts'
import {
  constructionFor,
  createConstruction,
  removeConstruction,
  tokenOf,
  type UploadPlan,
} from './upload.ts'

/**
 * Makes a temporary file that several processes write to, or returns the one that is there already. What else several
 * processes have written of the same file, of another version or generation, is removed. Throws system errors.
 * @param absolute of the path
 */
export function beginSharedUpload(
  path: StorePath,
  absolute: Buffer,
  plan: UploadPlan,
  { version, generation }: { readonly version: string; readonly generation: number },
): Upload {
  const construction = { ...constructionFor(path, plan, version), generation }
  const folder = parentOf(absolute)
  const there = find(folder, plan.tag, construction)
  const name = there?.name ?? sharedName(plan.tag, construction)
  const temporary = new FolderPaths(folder).of(name)
  const fd = there === undefined ? createConstruction(temporary, true) : openForRewriting(temporary)
  try {
    const partCount = Math.ceil(plan.sizeBytes / plan.partBytes)
    const written = (there?.written ?? []).filter((index) => index < partCount)
    return { token: tokenOf(path, name, fd), sizeBytes: plan.sizeBytes, written }
  } finally {
    closeSync(fd)
  }
}

interface Found {
  readonly name: Buffer
  readonly written: readonly number[]
}

function find(
  folder: Buffer,
  tag: string,
  wanted: { readonly file: string; readonly version: string; readonly generation: number },
): Found | undefined {
  const paths = new FolderPaths(folder)
  const names = temporaryNames(folder, tag).filter((name) => {
    const of = constructionOf(name)
    return of?.file === wanted.file && of.generation !== undefined
  })
  let found: Found | undefined
  for (const name of names.filter((one) => constructionOf(one)?.isParts === false)) {
    const path = Buffer.from(paths.of(name))
    const of = constructionOf(name)
    const isSame = of?.version === wanted.version && of.generation === wanted.generation
    const written = isSame && found === undefined ? readParts(path) : undefined
    if (written === undefined) removeConstruction(path)
    else found = { name, written }
  }
  // Accounts whose file has got its name.
  for (const name of names.filter((one) => constructionOf(one)?.isParts === true))
    if (found === undefined || !name.equals(partsName(found.name))) removeFile(paths.of(name))
  return found
}
