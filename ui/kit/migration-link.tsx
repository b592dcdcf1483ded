import { Link } from '@tanstack/react-router'
import { Named } from './named.tsx'

/** The name of a migration of files, or of metadata, and its page. */
export const MigrationLink = ({
  name,
  of = 'files',
}: {
  readonly name: string
  readonly of?: 'files' | 'metadata'
}) =>
  of === 'files' ? (
    <Link to="/migrations/$migrationId" params={{ migrationId: name }}>
      <Named>{name}</Named>
    </Link>
  ) : (
    <Link to="/metadata/migrations/$migrationName" params={{ migrationName: name }}>
      <Named>{name}</Named>
    </Link>
  )
