import type { MetadataMigration } from '../../subjects/metadata/migrations.ts'
import { noFigures } from '../../services/metadata/migrations/record.ts'

type Changed = { readonly [Field in keyof MetadataMigration]?: MetadataMigration[Field] | undefined }

/** A metadata migration that follows its source and is well, but for what is said. */
export const metadataMigration = (more: Changed = {}): MetadataMigration =>
  ({
    migrationName: 'lake',
    internalId: '5cc427cb-1599-4a55-be06-7a53109a9867',
    source: 'here',
    target: 'there',
    ruleNames: ['all'],
    once: false,
    onConflict: 'report',
    maxDrops: 100,
    maxDropPercent: 20,
    state: 'RUNNING',
    phase: 'following',
    changeDetection: 'events',
    created: '2026-02-01T22:00:00.000Z',
    ...noFigures,
    ...more,
  }) as MetadataMigration
