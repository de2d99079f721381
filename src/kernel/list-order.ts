/** Order of a list's rows by time, as the service pages them. */
export type ListOrder = 'newest-first' | 'oldest-first' | 'unordered';
