import { type Static, Type } from 'typebox'
import { defaultMetadata, linkPolicies } from './terms.ts'
import { Count, model, strict } from '../../kit/schemas.ts'

const keepModes = `Permission bits; default ${defaultMetadata.modes}. Set-user-id and set-group-id only with the owner`
const keepOwners = `User and group, by number; default ${defaultMetadata.owners}. Giving files away takes root`
const keepAttributes = `Extended attributes, access control lists (POSIX) among them; default ${defaultMetadata.attributes}`

/** What a migration is told to keep. */
export const MetadataChoice = strict({
  modes: Type.Optional(Type.Boolean({ description: keepModes })),
  owners: Type.Optional(Type.Boolean({ description: keepOwners })),
  attributes: Type.Optional(Type.Boolean({ description: keepAttributes })),
})

/** What it keeps. */
export const Metadata = model('Metadata', {
  modes: Type.Boolean({ description: keepModes }),
  owners: Type.Boolean({ description: keepOwners }),
  attributes: Type.Boolean({ description: keepAttributes }),
})
export type Metadata = Static<typeof Metadata>

export type LinkPolicy = (typeof linkPolicies)[number]
export const LinkPolicy = Type.Enum(linkPolicies, {
  description:
    'Symbolic links: copied as links, followed (as long as they stay inside of the source), or left out',
})

/** What arrived without something that belongs to it and was asked for, in numbers. */
export const NotKept = model('NotKept', {
  times: Count('Files and folders whose time the target would not take'),
  modes: Count('Files and folders that lack permission bits, for example set-user-id without its owner'),
  owners: Count('Files, folders and links that belong to somebody else than at the source'),
  attributes: Count(
    'Files and folders that lack extended attributes or access control lists, where the migration keeps those: else nobody looks whether they have any',
  ),
  links: Count('Symbolic links that the target cannot hold; each is among the failures'),
  hardLinks: Count('Files copied that have further names at the source: each name is a file of its own now'),
})
