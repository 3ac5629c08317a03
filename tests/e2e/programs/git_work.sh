# SPDX-License-Identifier: Apache-2.0
# needs: git
# ignore: *index *.pack *.idx *.rev *logs* *commit-graph* *multi-pack* packed-refs* *gc.log* *FETCH_HEAD* *info/refs* *objects/info/packs*
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main repo && cd repo
for i in $(seq 15); do seq "$i" >"f$i"; git add .; git commit -qm "commit $i"; done
git log --oneline | head -3; git status --short; git rev-parse HEAD
cd .. && git clone -q repo clone 2>&1 && git clone -q --bare "file://$PWD/repo" bare.git && git -C clone log --format=%H | sha256sum
git -C clone checkout -q -b topic HEAD~5 && echo x >clone/x && git -C clone add x && git -C clone commit -qm x && git -C clone rebase -q main 2>&1
git -C clone push -q origin topic 2>&1; git -C repo branch; git -C repo gc -q; git -C repo fsck 2>&1
git -C repo grep -c 1 | tail -1; git -C repo diff --stat HEAD~1; git -C repo no-such-command; echo $?
