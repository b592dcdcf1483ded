import { type Static, Type } from 'typebox'
import { defaultLinks, defaultMetadata, linkPolicies } from './terms.ts'
import { Count, model, OneOf, strict, Switch } from '../../kit/schemas.ts'

const keepModes = `Keep permission bits; default: ${defaultMetadata.modes}. Set-user-id and set-group-id are kept only together with the owner`
const keepOwners = `Keep user and group, by number; default: ${defaultMetadata.owners}. Changing ownership requires root`
const keepAttributes = `Keep extended attributes, including POSIX access control lists; default: ${defaultMetadata.attributes}`

const keptByDefault = Object.entries(defaultMetadata)
  .flatMap(([name, isKept]) => (isKept ? [name] : []))
  .join(' and ')

/** What a migration is told to keep. */
export const MetadataChoice = {
  ...strict({
    modes: Type.Optional(Switch(defaultMetadata.modes, keepModes)),
    owners: Type.Optional(Switch(defaultMetadata.owners, keepOwners)),
    attributes: Type.Optional(Switch(defaultMetadata.attributes, keepAttributes)),
  }),
  description: `What to keep besides content and times; default: ${keptByDefault}`,
}

/** What it keeps. */
export const Metadata = model('Metadata', {
  modes: Type.Boolean({ description: keepModes }),
  owners: Type.Boolean({ description: keepOwners }),
  attributes: Type.Boolean({ description: keepAttributes }),
})
export type Metadata = Static<typeof Metadata>

export type LinkPolicy = keyof typeof linkPolicies
export const LinkPolicy = OneOf(linkPolicies, { about: 'Symbolic links', usual: defaultLinks })

/** What arrived without something that belongs to it and was asked for, in numbers. */
export const NotKept = model('NotKept', {
  times: Count('Files and folders whose modification time the target did not accept'),
  modes: Count('Files and folders that lack permission bits, for example set-user-id without its owner'),
  owners: Count('Files, folders and links with another owner than at the source'),
  attributes: Count(
    'Files and folders that lack extended attributes or access control lists, if the migration keeps them; otherwise they are not checked',
  ),
  links: Count('Symbolic links that the target cannot store; each is listed as a failure'),
  hardLinks: Count(
    'Copied files with several hard links at the source; at the target, each name is a separate file',
  ),
})
