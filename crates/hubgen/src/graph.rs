//! Cycles among types: which of them contain each other.

/// The component of each node, for edges given by node: nodes that lead to each other share one,
/// and a component's number is higher than those of all components it leads to.
///
/// This is Tarjan's algorithm with a stack of its own, so that no schema is too deep for it.
pub fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut search = Search {
        edges,
        order: vec![UNSEEN; edges.len()],
        low: vec![UNSEEN; edges.len()],
        component: vec![UNSEEN; edges.len()],
        open: Vec::new(),
        seen: 0,
        found: 0,
    };
    for node in 0..edges.len() {
        if search.order[node] == UNSEEN {
            search.from(node);
        }
    }
    search.component
}

const UNSEEN: usize = usize::MAX;

struct Search<'a> {
    edges: &'a [Vec<usize>],
    order: Vec<usize>,
    low: Vec<usize>,
    component: Vec<usize>,
    open: Vec<usize>,
    seen: usize,
    found: usize,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        let mut path = vec![(start, 0)];
        self.enter(start);
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            match self.edges[node].get(*next) {
                Some(&target) => {
                    *next += 1;
                    if self.order[target] == UNSEEN {
                        self.enter(target);
                        path.push((target, 0));
                    } else if self.component[target] == UNSEEN {
                        self.low[node] = self.low[node].min(self.order[target]);
                    }
                }
                None => {
                    path.pop();
                    self.leave(node);
                    if let Some((parent, _)) = path.last() {
                        self.low[*parent] = self.low[*parent].min(self.low[node]);
                    }
                }
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = self.seen;
        self.low[node] = self.seen;
        self.seen += 1;
        self.open.push(node);
    }

    fn leave(&mut self, node: usize) {
        if self.low[node] != self.order[node] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member] = self.found;
            if member == node {
                break;
            }
        }
        self.found += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn nodes_that_lead_to_each_other_are_together() {
        // 0 and 1 and 2 form a cycle that leads to 3, which leads to itself; 4 leads to 0.
        let found = components(&[vec![1], vec![2], vec![0, 3], vec![3], vec![0]]);
        assert_eq!(found[0], found[1]);
        assert_eq!(found[1], found[2]);
        assert!(found[3] < found[0] && found[0] < found[4]);
    }

    #[test]
    fn a_long_chain_is_as_many_components() {
        let edges: Vec<_> =
            (0..100_000).map(|node| if node == 0 { vec![] } else { vec![node - 1] }).collect();
        let found = components(&edges);
        assert_eq!(found, (0..100_000).collect::<Vec<_>>());
    }
}
