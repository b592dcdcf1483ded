import { lazy, Suspense } from 'react'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { useAnswer } from '../data/calls.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { Failure } from './failure.tsx'

/** With its parser: few extensions need it. */
const Markdown = lazy(() => import('./markdown.tsx'))

/**
 * A page that an extension has made. HTML stands in a frame that is of no origin: it reaches neither the session, nor this
 * page, nor another extension, and the policy of this page lets no script of it run.
 */
export function ExtensionContent({
  prefix,
  uri,
  title,
  isWidget = false,
}: {
  readonly prefix: string
  readonly uri: string
  readonly title: string
  readonly isWidget?: boolean
}) {
  const { data, error } = useAnswer(extensions.resource, { prefix, uri })
  if (error) return <Failure title={title} error={error} />
  if (data === undefined) return null
  if (data.mediaType === 'text/markdown')
    return (
      <ErrorBoundary title={title}>
        <Suspense>
          <Markdown text={data.content} />
        </Suspense>
      </ErrorBoundary>
    )
  return (
    <iframe
      title={title}
      sandbox=""
      srcDoc={data.content}
      className={isWidget ? 'frame widget' : 'frame'}
      referrerPolicy="no-referrer"
    />
  )
}
