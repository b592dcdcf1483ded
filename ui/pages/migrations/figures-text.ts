import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { countOf } from '../../kit/format.ts'

export const filesText = (files: number, bytes: number): string =>
  `${countOf(files, 'file')}, ${sizeText(bytes)}`

/** What is in an excluded folder, nobody has counted. */
export const excludedText = (files: number, bytes: number, folders: number): string =>
  folders === 0
    ? filesText(files, bytes)
    : `${filesText(files, bytes)}; ${countOf(folders, 'folder')} with everything in ${folders === 1 ? 'it' : 'them'}`
