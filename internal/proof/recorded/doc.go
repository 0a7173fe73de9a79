// Package recorded has what earlier builds have stored, and shows that this one goes on with it.
//
// In the directory of each build, named by its commit, are the items that its engine has written: a record in each
// state, and what the build itself answered to the next arrivals of the same request. The tests
//
//   - let this build answer the same arrivals on the same items, and compare answers, what was run, and what is then
//     stored;
//   - make the same calls anew, and compare the items with the recorded ones attribute by attribute.
//
// So a deployment can meet the records of the build before it, in each state. A deployment that is rolled back can
// meet those of the build after it; .ci/recorded shows that, with the build's own tests in a worktree of its commit.
// Those are kept beside the items as text, since they fit that commit's API only.
//
// To record a build, which is done once for each that people may run:
//
//	.ci/recorded record COMMIT
package recorded
