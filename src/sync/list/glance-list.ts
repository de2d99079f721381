import { isDoubtful } from './doubt.ts';
import type { ListPort } from './list-port.ts';
import { createListSession } from './list-session.ts';
import { isFirstScan, type ListState, type PageFacts } from './list-state.ts';
import { pollList } from './poll-list.ts';
import { endPass, isHeadWorthReading } from './read-list.ts';

/**
 * Reads only the end at which the list grows, and leaves every doubt to the next pass. Reads nothing while a scan is
 * about to read that end. Returns the number of requests.
 */
export async function glanceAtList<P extends PageFacts>(
  port: ListPort<P>,
  state: ListState,
): Promise<{ requests: number }> {
  const isScanning = isFirstScan(state) || state.checkpoint.walk !== null;
  if (isScanning && !isHeadWorthReading(state)) return { requests: 0 };
  const session = createListSession(port, state);
  const { days, inserted } = await pollList(session);
  // A pass that ends notes the counts as explained; a glance that leaves a doubt must not.
  const polledTotal = session.state.serviceTotal;
  if (!isScanning && !isDoubtful(session.state))
    await endPass({ session, days, inserted, polledTotal });
  else if (session.isDirty) await session.prepare({ pages: [], days: null })();
  return { requests: session.requests };
}
